"""Recent edits that a region may be due for: shown to the model where it still has the old names.

Reading costs time, and small models are led astray by what has nothing to do with the region. So
an edit is shown only if it took words away that the region or the instruction still has, or changed
the definition of one: a function that got another name or other arguments, and is called here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from copydraft.emission.fence import fence_around, fenced

if TYPE_CHECKING:
    from collections.abc import Iterable

    from copydraft.workspace.edits import RecentEdit

_WORD = re.compile(r"[^\W\d]\w{2,}")

_DEFINED = re.compile(
    r"\b(?:class|const|def|enum|fn|func|function|interface|let|struct|trait|type|var)\s+(\w{3,})"
)

_MOST_EDITS = 3
_MOST_CHARACTERS = 1200
"""In all: about 300 tokens."""


def show_edits(edits: Iterable[RecentEdit], region: str, instruction: str) -> str:
    """The latest of `edits` (newest first) that matter to a region, as a diff in a fence, or ""."""
    asked = _words(region) | _words(instruction)
    shown: list[str] = []
    room = _MOST_CHARACTERS
    for edit in edits:
        if len(shown) == _MOST_EDITS:
            break
        text = _diff(edit)
        if len(text) <= room and _changed(edit) & asked and text not in shown:
            shown.append(text)
            room -= len(text)
    if not shown:
        return ""
    text = "".join(reversed(shown))
    return f"Edits made before:\n{fenced(text, fence_around('', text), 'diff')}\n"


def _changed(edit: RecentEdit) -> set[str]:
    """Words that are not, or do not mean, what they did before."""
    return (_words(edit.old) - _words(edit.new)) | set(_DEFINED.findall(edit.old))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))


def _diff(edit: RecentEdit) -> str:
    """The edit alone, without the lines around it."""
    lines = [f"--- {edit.path}\n"]
    for sign, text in (("-", edit.old), ("+", edit.new)):
        lines += [f"{sign}{line}\n" for line in text.splitlines()]
    return "".join(lines)
