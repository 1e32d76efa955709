"""The session index finds the longest match of the output's end, wherever it stands."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.index.session import DEPTH, SessionIndex
from copydraft.tokens import Document

tokens = st.lists(st.integers(0, 3), max_size=40)


def document(*ids: int) -> Document:
    return Document("session", "", "", ids)


def naive_matches(texts: list[list[int]], output: list[int]) -> set[tuple[int, int, int]]:
    """(length, document, offset) of the places with the longest match, by looking everywhere."""
    found: dict[tuple[int, int], int] = {}
    for number, text in enumerate(texts):
        for place in range(1, len(text)):
            length = 0
            while (
                length < min(DEPTH, place, len(output))
                and text[place - 1 - length] == output[-1 - length]
            ):
                length += 1
            found[number, place] = length
    longest = max(found.values(), default=0)
    return {(n, *where) for where, n in found.items() if n == longest and n > 0}


def test_the_longest_match_wins_over_a_later_one() -> None:
    index = SessionIndex([document(1, 2, 3, 4), document(9, 3, 5)])
    index.append([1, 2, 3])
    [match] = index.longest_matches(8)
    assert match.length == 3
    assert match.document == 0
    assert index.following(match, 8) == [4]


def test_text_that_was_just_written_is_found_again() -> None:
    index = SessionIndex([])
    index.append([7, 8, 9, 7])
    [match] = index.longest_matches(8)
    assert index.following(match, 8) == [8, 9, 7]


def test_a_run_of_one_token_drafts_the_token_again() -> None:
    # The newest match of a run is the output's own end, which nothing follows yet.
    index = SessionIndex([])
    index.append([5, 5, 5, 5])
    assert all(index.following(m, 1) == [5] for m in index.longest_matches(8))
    assert index.longest_matches(8)


def test_a_match_across_the_border_of_two_steps_is_found() -> None:
    index = SessionIndex([document(1, 2, 3, 4, 5)])
    index.append([1, 2])
    index.append([3, 4])
    assert [m.length for m in index.longest_matches(8)] == [4]


def test_no_match_and_no_draft_crosses_the_border_of_two_documents() -> None:
    index = SessionIndex([document(1, 2), document(3, 4)])
    index.append([2])
    assert index.longest_matches(8) == []
    index.append([3])
    [match] = index.longest_matches(8)
    assert match.length == 1
    assert index.following(match, 8) == [4]


def compared_places(size: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a look-up in a session of `size` tokens reads the text before a place."""
    chance = random.Random(1)
    index = SessionIndex([document(*(chance.randrange(size) for _ in range(size)))])
    index.append([1, 4])
    calls: list[int] = []
    before = SessionIndex._before

    def counted(self: SessionIndex, place: int) -> list[int]:
        calls.append(place)
        return before(self, place)

    with monkeypatch.context() as patched:
        patched.setattr(SessionIndex, "_before", counted)
        index.longest_matches(8)
    return len(calls)


def test_the_cost_of_a_look_up_grows_with_the_logarithm_of_the_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Six doublings; a match more or less costs two.
    assert compared_places(64_000, monkeypatch) <= compared_places(1_000, monkeypatch) + 6 + 8


def test_nothing_matches_in_an_empty_session() -> None:
    assert SessionIndex([]).longest_matches(8) == []


@given(st.lists(tokens, max_size=3), tokens, tokens)
def test_look_ups_equal_a_naive_search(
    texts: list[list[int]], begun: list[int], written: list[int]
) -> None:
    index = SessionIndex([document(*text) for text in texts], begun)
    index.append(written)
    output = begun + written
    starts = [1 + sum(len(t) + 1 for t in texts[:n]) for n in range(len(texts) + 1)]
    found = {
        (m.length, m.document, m.position - starts[m.document])
        for m in index.longest_matches(10_000)
    }
    assert found == naive_matches([*texts, output], output)
