r"""The text around a place in a document, as much of it as a model is shown to complete it.

The window before the place begins at line borders that move in large steps: what is typed leaves
its start where it was, and most of the prompt stays in the prefix cache. All texts have only `\n`
as line end.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from copydraft.errors import BadRequest
from copydraft.prompts.context import plain

CHARS_PER_TOKEN = 4
"""Of code, on the generous side; whoever has the tokens asks again for less."""

_LINE_END = re.compile(r"[\r\n]")


class Surroundings(NamedTuple):
    """Parts of a document, in order, the place being between `head` and `rest`."""

    far_before: str
    """Not shown to the model, but near enough to copy from."""
    before: str
    """Whole lines, the last one ended."""
    head: str
    """The place's line up to the place."""
    rest: str
    """The place's line behind the place, without its end."""
    behind: str
    """Line end and whole lines; empty where the document ends with the place's line."""
    far_behind: str
    """As `far_before`."""


def around(text: str, offset: int, *, before: int, behind: int, far: int = 0) -> Surroundings:
    """At most `before` characters of the lines before the place's, `behind` behind it, and `far`.

    Between half of `before` and all of it is shown, where there is as much. The place's own line is
    cut off at its far ends where it is longer than the room on that side.

    Raises:
        BadRequest: there is no such place in the text, or it is inside of a line end.
    """
    if offset > len(text):
        raise BadRequest(
            f"there is no place {offset}: the document has {len(text)} characters",
            "name a place in the text that is sent",
        )
    if text[max(0, offset - 1) : offset + 1] == "\r\n":
        raise BadRequest("the place is inside of a line end", "name the one before it")
    line_start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    ended = _LINE_END.search(text, offset)
    line_end = ended.start() if ended else len(text)
    head, rest = text[line_start:offset], text[offset:line_end]
    start = _window_start(text, line_start, before)
    room = max(0, behind - len(rest))
    end = len(text) if len(text) - line_end <= room else _last_line_end(text, line_end, room)
    return Surroundings(
        far_before=plain(text[max(0, start - far) : start]),
        before=plain(text[start:line_start]),
        head=head[-before:] if before else "",
        rest=rest[:behind],
        behind=plain(text[line_end:end]),
        far_behind=plain(text[end : end + far]),
    )


def _window_start(text: str, line_start: int, room: int) -> int:
    """The first line within `room` characters before `line_start`, moving in steps of half that.

    Steps count from the document's start, so that typing behind them does not move them.
    """
    if line_start <= room:
        return 0
    step = max(1, room // 2)
    start = -(-(line_start - room) // step) * step
    border = _LINE_END.search(text, max(0, start - 1), line_start)
    if border is None or start >= line_start:
        return line_start
    # A carriage return may have its line feed behind it.
    return border.end() + (text[border.start() : border.end() + 1] == "\r\n")


def _last_line_end(text: str, start: int, room: int) -> int:
    """The end of the last line that ends within `room` characters from `start` on."""
    end = max(text.rfind("\n", start, start + room), text.rfind("\r", start, start + room - 1)) + 1
    return max(start, end)
