"""Positions in UTF-8, UTF-16 and UTF-32, clamped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, Range

from copydraft.textedits import split_lines
from copydraft_lsp.convert import place, position, to_character, to_index, units, whole_lines

ENCODINGS = ("utf-8", "utf-16", "utf-32")

encodings = st.sampled_from(ENCODINGS)
lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"))
texts = st.text(st.sampled_from("aμ😀\u0301\u2028\r\n"), max_size=30)


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("utf-8", [1, 3, 7, 9]), ("utf-16", [1, 2, 4, 5]), ("utf-32", [1, 2, 3, 4])],
)
def test_each_encoding_counts_its_own_units(encoding: str, expected: list[int]) -> None:
    line = "aμ😀\u0301"
    assert [to_character(line, index, encoding) for index in (1, 2, 3, 4)] == expected
    assert [to_index(line, character, encoding) for character in expected] == [1, 2, 3, 4]


@pytest.mark.parametrize(("encoding", "characters"), [("utf-8", [2, 3, 4]), ("utf-16", [2])])
def test_a_position_inside_a_character_is_its_start(encoding: str, characters: list[int]) -> None:
    assert [to_index("a😀b", character, encoding) for character in characters] == [1] * len(
        characters
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("end", ["", "\n", "\r", "\r\n"])
def test_a_position_behind_the_line_is_before_its_end(encoding: str, end: str) -> None:
    assert to_index(f"aμ{end}", 1000, encoding) == 2


def test_a_lone_surrogate_is_one_unit_of_utf_16() -> None:
    assert units("\ud83d", "utf-16") == 1
    assert to_index("\ud83da", 1, "utf-16") == 1


@given(lines, encodings, st.integers(min_value=0))
def test_no_position_raises_or_leaves_the_line(line: str, encoding: str, character: int) -> None:
    assert 0 <= to_index(line, character, encoding) <= len(line)


@given(lines, encodings, st.data())
def test_an_index_is_found_again_by_its_character(
    line: str, encoding: str, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(line)))
    assert to_index(line, to_character(line, index, encoding), encoding) == index


@given(texts, encodings, st.data())
def test_an_offset_is_found_again_by_its_position(
    text: str, encoding: str, data: st.DataObject
) -> None:
    offset = data.draw(st.integers(0, len(text)))
    if text[max(0, offset - 1) : offset + 1] == "\r\n":
        return
    parts = split_lines(text)
    line, index = place(parts, position(parts, offset, encoding), encoding)
    assert sum(map(len, parts[:line])) + index == offset


@pytest.mark.parametrize(
    ("text", "expected"), [("", (0, 0)), ("a", (0, 1)), ("a\n", (1, 0)), ("a\nb", (1, 1))]
)
def test_a_position_behind_the_last_line_is_the_texts_end(
    text: str, expected: tuple[int, int]
) -> None:
    assert place(split_lines(text), Position(99, 99), "utf-16") == expected


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (((1, 0), (1, 0)), (1, 2)),
        (((1, 3), (1, 5)), (1, 2)),
        (((1, 0), (3, 0)), (1, 3)),
        (((1, 2), (3, 1)), (1, 4)),
        (((3, 1), (1, 2)), (1, 4)),
        (((2, 0), (99, 0)), (2, 5)),
        (((4, 1), (5, 0)), (4, 5)),
        (((5, 0), (5, 0)), (5, 5)),
        (((98, 0), (99, 0)), (5, 5)),
    ],
)
def test_a_selection_touches_whole_lines(
    selection: tuple[tuple[int, int], tuple[int, int]], expected: tuple[int, int]
) -> None:
    range_ = Range(Position(*selection[0]), Position(*selection[1]))
    assert whole_lines(range_, 5) == expected


def test_an_empty_text_has_no_lines_to_select() -> None:
    assert whole_lines(Range(Position(0, 0), Position(0, 0)), 0) == (0, 0)
