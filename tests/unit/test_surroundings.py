"""The text around a place: what a model is shown, and what lies beyond."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.errors import BadRequest
from copydraft.prompts.surroundings import Surroundings, around

LINES = [f"line {number:03}\n" for number in range(100)]
TEXT = "".join(LINES)
WIDTH = len(LINES[0])


def at(line: int, column: int = 0) -> int:
    return line * WIDTH + column


def shown(offset: int, *, text: str = TEXT, before: int = 100, behind: int = 50) -> Surroundings:
    return around(text, offset, before=before, behind=behind)


def test_a_short_text_is_shown_whole() -> None:
    assert around("a\nbcd\ne\n", 3, before=100, behind=100) == Surroundings(
        far_before="", before="a\n", head="b", rest="cd", behind="\ne\n", far_behind=""
    )


def test_the_window_begins_and_ends_at_line_borders() -> None:
    parts = shown(at(50, 4))
    assert (parts.head, parts.rest) == ("line", " 050")
    assert parts.before.startswith("line 0")
    assert parts.before.endswith("line 049\n")
    assert parts.behind == "\nline 051\nline 052\nline 053\nline 054\nline 055\n"


def test_what_lies_beyond_the_window_is_told_apart() -> None:
    parts = around(TEXT, at(50), before=50, behind=50, far=18)
    assert TEXT.index(parts.far_before + parts.before) == at(50) - len(
        parts.far_before + parts.before
    )
    assert len(parts.far_before) == 18
    assert (parts.behind + parts.far_behind)[:-18].endswith("\n")


@given(line=st.integers(20, 90))
def test_between_half_and_all_of_the_room_before_is_used(line: int) -> None:
    size = len(shown(at(line)).before)
    assert 50 - WIDTH < size <= 100


def test_typing_does_not_move_the_start_of_the_window() -> None:
    start = TEXT[: at(50)]
    typed = "a new line of code\n"
    befores = [
        shown(at(50) + count, text=start + typed[:count] + "\n" + TEXT[at(50) :]).before
        for count in range(len(typed))
    ]
    assert len({before[:WIDTH] for before in befores}) == 1


def test_the_start_of_the_window_moves_seldom() -> None:
    starts = [shown(at(line)).before[:WIDTH] for line in range(20, 60)]
    moves = sum(one != other for one, other in pairwise(starts))
    assert moves == 40 * WIDTH // 50


def test_a_line_too_long_for_the_window_is_cut_at_its_far_ends() -> None:
    parts = around("a" * 500 + "b" * 500, 500, before=100, behind=50)
    assert (parts.head, parts.rest) == ("a" * 100, "b" * 50)
    assert (parts.before, parts.behind) == ("", "")


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_other_line_ends_are_shown_as_line_feeds(end: str) -> None:
    parts = around(f"a{end}bc{end}d{end}", 2 + len(end), before=100, behind=100)
    assert parts == Surroundings("", "a\n", "b", "c", "\nd\n", "")


def test_a_place_behind_the_text_is_refused() -> None:
    with pytest.raises(BadRequest, match="the document has 3 characters"):
        around("abc", 4, before=10, behind=10)


def test_a_place_inside_of_a_line_end_is_refused() -> None:
    with pytest.raises(BadRequest, match="inside of a line end"):
        around("a\r\nb", 2, before=10, behind=10)


@given(
    text=st.text(st.sampled_from("ab \n"), max_size=60),
    data=st.data(),
    before=st.integers(0, 40),
    behind=st.integers(0, 40),
)
def test_the_parts_are_the_text_around_the_place(
    text: str, data: st.DataObject, before: int, behind: int
) -> None:
    offset = data.draw(st.integers(0, len(text)))
    parts = around(text, offset, before=before, behind=behind, far=100)
    first = parts.before + parts.head
    assert max(len(parts.before), len(parts.head)) <= before
    assert len(parts.rest + parts.behind) <= behind
    assert text[:offset].endswith(parts.head)
    assert text[offset:].startswith(parts.rest)
    if text[:offset].endswith(first):
        assert text[:offset].endswith(parts.far_before + first)
    assert "\n" not in parts.head + parts.rest
