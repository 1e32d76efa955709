"""Where a completion ends: models that fill in the middle often do not stop by themselves.

Rules as in peers (Tabby, Continue, llama.vim): what is put into a line stays in it; elsewhere a
completion is one block, up to a blank line or to the end of the block that it begins.
"""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

_CLOSER = re.compile(r"\s*(?:[)\]}]|</|end\b|fi\b|done\b|esac\b)")
"""Begins a line that belongs to the block that it closes."""

_ANOTHER_VERSION = 6
"""Characters."""

_BRACKETS = {")": "(", "]": "[", "}": "{"}


class Place(NamedTuple):
    r"""What stands around a completion; only `\n` ends a line."""

    head: str
    """The line up to the place."""
    rest: str
    """The line behind the place."""
    behind: str
    """The lines after it."""

    @property
    def in_line(self) -> bool:
        """Text follows in the line: only the gap in it is filled."""
        return bool(self.rest.strip())


def end_of(answer: str, place: Place, *, final: bool = False) -> int | None:
    """The offset at which a completion ends, None while it may go on; `final`: no more comes.

    `answer` begins at the place.
    """
    if place.in_line:
        end = answer.find("\n")
        return end if end >= 0 else len(answer) if final else None
    lines = answer.split("\n")
    whole = len(lines) if final else len(lines) - 1
    following = next((line.rstrip() for line in place.behind.split("\n") if line.strip()), None)
    base: int | None = None
    deeper = False
    at = 0
    for number, line in enumerate(lines):
        full = place.head + line if number == 0 else line
        if full.strip():
            indent = _indentation(full)
            if base is None:
                base = indent
            closes = deeper and indent == base
            begun = number == 0 and place.head.strip()
            repeats = number < whole and not begun and full.rstrip() == following
            if indent < base or repeats or (closes and not _CLOSER.match(full)):
                return at
            if closes and number < whole:
                return at + len(line)
            deeper = deeper or indent > base
        elif number < whole and answer[:at].strip():
            return at
        at += len(line) + 1
    return len(answer) if final else None


def without_rest(text: str, place: Place) -> str:
    """A completion inside a line, without what of the line's rest it repeats at its end.

    Where the line's brackets would then match less than before, it is no repetition. One that
    begins as the rest does is another version of it: nothing of that fits in front of it.
    """
    kept, again = text.rstrip(), place.rest.rstrip()
    if not kept.endswith(again):
        again = again.lstrip()
    if not again or not kept.endswith(again):
        same = len(posixpath.commonprefix([kept.lstrip(), again]))
        return text if same < _ANOTHER_VERSION else ""
    shorter = kept.removesuffix(again)
    with_it, without = (_unmatched(place.head + middle + place.rest) for middle in (kept, shorter))
    return text if without > with_it else shorter


def _indentation(line: str) -> int:
    """Columns before the text; a tab counts as four."""
    blank = line[: len(line) - len(line.lstrip())]
    return len(blank.expandtabs(4))


def _unmatched(line: str) -> int:
    """Brackets that have no partner."""
    stack: list[str] = []
    for character in line:
        if stack and _BRACKETS.get(character) == stack[-1]:
            stack.pop()
        elif character in _BRACKETS or character in _BRACKETS.values():
            stack.append(character)
    return len(stack)
