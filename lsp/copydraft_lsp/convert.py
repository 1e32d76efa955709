"""Positions: characters of LSP, in the units that were negotiated, and indices of Python strings.

An index counts Unicode code points. Whatever a client sends is clamped: nothing here raises, and
no index lies inside a character or inside a line's end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import Position, PositionEncodingKind, Range

if TYPE_CHECKING:
    from collections.abc import Sequence

Encoding = PositionEncodingKind | str
"""`utf-8`, `utf-16` or `utf-32`: what a position's `character` counts."""

ANY_END = "\r\n"
"""What may end a line, by LSP: `\\n`, `\\r\\n` and `\\r`. Neovim has one of them alone."""

_LAST_OF_PLANE_0 = 0xFFFF


def units(text: str, encoding: Encoding) -> int:
    """The length of `text` in the units of `encoding`; a lone surrogate counts as a character."""
    if encoding == PositionEncodingKind.Utf32 or text.isascii():
        return len(text)
    if encoding == PositionEncodingKind.Utf8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(ord(character) > _LAST_OF_PLANE_0 for character in text)


def to_index(line: str, character: int, encoding: Encoding, ends: str = ANY_END) -> int:
    """Where `character` is in `line`, which may have its line end.

    Behind the line's content it is the content's end, inside a character that character's start.
    """
    content = len(line.rstrip(ends))
    most = max(0, min(character, content))
    if encoding == PositionEncodingKind.Utf32 or line[:most].isascii():
        return most
    left = character
    for index in range(most):
        left -= units(line[index], encoding)
        if left < 0:
            return index
    return most


def to_character(line: str, index: int, encoding: Encoding) -> int:
    """The character that stands for `index` in `line`, the reverse of `to_index`."""
    return units(line[: max(0, index)], encoding)


def place(
    lines: Sequence[str], position: Position, encoding: Encoding, ends: str = ANY_END
) -> tuple[int, int]:
    """Line and index of `position` in a text of `lines`, with their ends.

    Behind the last line it is the text's end: `(len(lines), 0)` where the text ends in a line end
    or is empty, else the end of the last line.
    """
    if position.line < len(lines):
        line = max(0, position.line)
        return line, to_index(lines[line], position.character, encoding, ends)
    if lines and not lines[-1].endswith(tuple(ends)):
        return len(lines) - 1, len(lines[-1])
    return len(lines), 0


def position(
    lines: Sequence[str], offset: int, encoding: Encoding, *, first: int = 0, ends: str = ANY_END
) -> Position:
    """The position of `offset` code points into `lines`, the first of which is line `first`.

    Behind the text it is the text's end.
    """
    left = max(0, offset)
    for number, line in enumerate(lines):
        ended = line.endswith(tuple(ends))
        if left < len(line) or (left == len(line) and not ended):
            return Position(first + number, to_character(line, left, encoding))
        if not ended:
            return Position(first + number, to_character(line, len(line), encoding))
        left -= len(line)
    return Position(first + len(lines), 0)


def whole_lines(range_: Range, count: int) -> tuple[int, int]:
    """The lines [start, end) that a selection touches, in a text of `count` lines.

    A selection that ends at the start of a line does not touch that line, as editors show it. At
    least one line is given, unless the selection begins behind the last: on the empty line that
    editors show below the final line end, or in an empty text.
    """
    first, last = sorted((end.line, end.character) for end in (range_.start, range_.end))
    end = last[0] + (last[1] > 0 or last[0] == first[0])
    start = max(0, min(first[0], count))
    return start, max(min(end, count), min(start + 1, count))
