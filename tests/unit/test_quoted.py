"""A text that the answer has just quoted is followed while the new one is written in its place."""

from __future__ import annotations

from copydraft.drafting.drafter import CopyDrafter
from copydraft.drafting.policy import Experience, Policy
from copydraft.drafting.profile import profile_of
from copydraft.drafting.quoted import QuotedText
from copydraft.tokens import Document, Quotation

OLD, NEW, END = 90, 91, 99
TEXT = tuple(range(10, 30))
QUOTATION = Quotation((1, OLD), (1, NEW))


def offered(*output: int) -> list[int] | None:
    """What is offered to follow the output; None where nothing is being rewritten."""
    quoted = QuotedText([QUOTATION])
    quoted.append(output)
    return list(quoted.cursor.candidate(8).tokens) if quoted.cursor else None


def test_the_new_text_is_expected_to_begin_as_the_old_one_did() -> None:
    assert offered(1, OLD, *TEXT, 1, NEW) == [10, 11, 12, 13, 14, 15, 16, 17]


def test_it_is_followed_as_it_is_written() -> None:
    assert offered(1, OLD, *TEXT, 1, NEW, *TEXT[:18]) == [28, 29]


def test_its_place_is_found_again_after_a_change() -> None:
    assert offered(1, OLD, *TEXT, 1, NEW, *TEXT[:16], 77, 27) == [28, 29]


def test_it_makes_no_difference_how_many_tokens_come_at_once() -> None:
    at_once, singly = QuotedText([QUOTATION]), QuotedText([QUOTATION])
    output = (1, OLD, *TEXT, 1, NEW, 10)
    at_once.append(output)
    for token in output:
        singly.append([token])
    assert at_once.cursor is not None
    assert singly.cursor is not None
    assert at_once.cursor.candidate(8) == singly.cursor.candidate(8)


def test_the_old_text_itself_is_not_expected_anew() -> None:
    assert offered(1, OLD, *TEXT) is None


def test_a_new_text_ends_where_the_next_old_one_begins() -> None:
    assert offered(1, OLD, *TEXT, 1, NEW, *TEXT, 1, OLD) is None


def test_only_what_the_quotation_names_stands_before_an_old_text() -> None:
    assert offered(2, OLD, *TEXT, 1, NEW) is None


def test_a_text_as_short_as_a_path_is_not_expected_anew() -> None:
    assert offered(1, OLD, *TEXT[:15], 1, NEW) is None
    assert offered(1, OLD, *TEXT[:16], 1, NEW) is not None


def test_the_longer_of_two_openings_counts() -> None:
    quoted = QuotedText([QUOTATION, Quotation((5,), (OLD,))])
    quoted.append((1, OLD, *TEXT, 1, NEW))
    assert quoted.cursor is not None


def test_a_drafter_prefers_it_to_what_followed_an_earlier_edit() -> None:
    earlier = Document("session", "", "answer", (20, 21, 22, 1, NEW, 30, 31, 32, 33, END))
    policy = Policy(Experience(profile_of("chat", {}), [1.0] * 64))
    subject = CopyDrafter([earlier], policy, quotations=[QUOTATION])
    subject.written([1, OLD, *TEXT, 1, NEW], accepted=0)
    assert list(subject.propose(8).tokens)[:5] == [10, 11, 12, 13, 14]
