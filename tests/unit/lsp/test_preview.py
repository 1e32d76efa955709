"""The edit so far, out of an answer that is being written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from copydraft.protocol import Region, Span
from copydraft.textedits import split_lines
from copydraft_lsp.preview import Hunk, Preview

REGION = "a = 1\r\nb = 2\r\nc = 3\r\n"


def region_of(text: str, path: str = "a.py") -> Region:
    return Region(path=path, text=text, start=0, end=text.count("\n"))


def after(text: str, region: str = REGION, path: str = "a.py") -> list[Hunk]:
    preview = Preview(region_of(region, path), split_lines(region))
    preview.add(text, [Span(start=0, end=len(text))], 1)
    return preview.hunks()


def test_nothing_is_changed_while_the_answer_copies() -> None:
    assert after("\na = 1\nb = 2\n") == []


def test_what_is_not_reached_stays() -> None:
    assert after("\na = 9\nb = 2\n") == [Hunk(0, 1, ["a = 9"])]


def test_new_lines_stand_before_the_rest_until_it_is_reached() -> None:
    assert after("\na = 1\nx = 0\n") == [Hunk(1, 1, ["x = 0"])]
    assert after("\na = 1\nx = 0\nc = 3\n") == [Hunk(1, 2, ["x = 0"])]


def test_a_line_that_may_still_grow_is_left_out() -> None:
    assert after("\na = 1\nx =") == []


def test_the_closing_fence_and_what_follows_are_no_part_of_it() -> None:
    assert after("\na = 1\nb = 2\nc = 3\n```\nThis\n") == []


def test_a_shorter_fence_belongs_to_the_text() -> None:
    assert after("\n```\ny\n", "```\nx\n```\n") == [Hunk(1, 1, ["y"])]


def test_a_file_without_a_language_begins_with_its_first_line() -> None:
    assert after("a\nB\nc\n", "a\nb\nc\n", "notes.txt") == [Hunk(1, 2, ["B"])]


def test_three_backticks_belong_to_the_text_of_markdown() -> None:
    assert after("\nx\n```\ny\n", "x\n```\nz\n", "a.md") == [Hunk(2, 2, ["y"])]


def test_a_long_fence_anywhere_in_the_document_makes_the_answers_longer() -> None:
    document = "````\nx\n````\na\n"
    preview = Preview(Region(path="a.py", text=document, start=3, end=4), ["a\n"])
    preview.add("\n````\nb\n", [Span(start=0, end=8)], 1)
    assert preview.hunks() == [Hunk(0, 0, ["````", "b"])]


def test_a_byte_order_mark_is_no_difference() -> None:
    assert after("\na = 1\nb = 2\n", "\ufeffa = 1\nb = 2\n") == []


def test_a_byte_order_mark_that_does_not_begin_the_document_is_text() -> None:
    region = Region(path="a.py", text="a\n\ufeffb\n", start=1, end=2)
    preview = Preview(region, ["\ufeffb\n"])
    preview.add("\n\ufeffb\n", [Span(start=0, end=4)], 1)
    assert preview.hunks() == []


def test_spans_of_one_source_are_one() -> None:
    preview = Preview(region_of(REGION))
    preview.add("a =", [Span(start=0, end=3, corpus="region", path="p")], 1)
    preview.add(" 1!", [Span(start=0, end=2, corpus="region", path="p"), Span(start=2, end=3)], 3)
    assert preview.spans == [
        Span(start=0, end=5, corpus="region", path="p"),
        Span(start=5, end=6),
    ]
    assert (preview.text, preview.tokens) == ("a = 1!", 3)


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abcd")))
def test_hunks_lead_from_the_region_to_the_text_and_the_rest(
    old: list[str], new: list[str]
) -> None:
    made = [*old]
    hunks = after("".join(f"\n{line}" for line in new) + "\n", "".join(f"{line}\n" for line in old))
    for hunk in reversed(hunks):
        made[hunk.start : hunk.end] = hunk.lines
    assert made[: len(new)] == new
    assert all(line in old for line in made[len(new) :])
