"""Old texts of a region and new ones in their place: what edits by search and by diff share.

An old text is found where it stands exactly once, or else where whole lines equal it but for
blanks at their ends. Nothing is ever put where it only looks right.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from copydraft.emission.fence import whole_lines
from copydraft.emission.format import Part, cut, misplaced
from copydraft.textedits import Change, align, changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WITHIN_WORD = re.compile(r"\w\w")
_CONTEXT = 3
"""Unchanged lines around a change, as in diffs."""


class Replacement(NamedTuple):
    """Put `new`, parts of an answer, in the place of `old`."""

    old: str
    new: list[Part]


class _Place(NamedTuple):
    start: int
    end: int
    new: list[Part]


def replaced(region: str, replacements: Sequence[Replacement], *, lines: bool) -> list[Part]:
    r"""The region's text with all replacements made, its last line ended by `\n`.

    `lines`: old and new texts are whole lines; else they begin and end anywhere.

    Raises:
        AnswerRefused: an old text is empty, not there, or there more than once; or two overlap.
    """
    region = whole_lines(region)
    places = sorted(
        _place(region, old, new, lines=lines)
        for old, new in replacements
        if old != "".join(part.text for part in new)
    )
    parts = []
    at = 0
    for start, end, new in places:
        if start < at:
            raise misplaced("the model changes the same lines twice")
        parts += [Part(region[at:start], 0, 0), *new]
        at = end
    return [part for part in [*parts, Part(region[at:], 0, 0)] if part.text]


def unique_changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """What differs, with lines around it until every place's old lines occur once in `old`.

    `old` and `new` are lines with their ends. All of them are one change if none differs.
    """
    text = "".join(old)

    def is_unique(change: Change) -> bool:
        return len(list(_found(text, "".join(old[change.old_start : change.old_end])))) == 1

    found = [_grown(change, _CONTEXT, old) for change in changes(old, new)]
    found = list(_merged(found)) or [Change(0, len(old), 0, len(new))]
    while not all(map(is_unique, found)):
        found = list(_merged([c if is_unique(c) else _grown(c, 1, old) for c in found]))
    return found


def _place(region: str, old: str, new: list[Part], *, lines: bool) -> _Place:
    if not old:
        raise misplaced("the model does not say which lines to change")
    exact = list(_found(region, old))
    if lines:
        exact = [start for start in exact if start == 0 or region[start - 1] == "\n"]
    else:
        exact = [start for start in exact if not _cuts_word(region, start, start + len(old))]
    if len(exact) == 1:
        end = exact[0] + len(old)
        if not old.endswith("\n") and region[end : end + 1] == "\n" and _ends_line(new):
            end += 1  # the model ends the last line only in the new text
        return _Place(exact[0], end, new)
    have, wanted = _lines(region), _lines(old)
    similar = [] if exact else _similar(have, wanted)
    if len(similar) == 1:
        return _place_of_lines(have, similar[0], old, new)
    if times := len(exact) + len(similar):
        more = " …" if len(wanted) > 1 else ""
        raise misplaced(
            f"the model changes lines that occur {times} times: {wanted[0].strip()!r}{more}"
        )
    known = {line.rstrip() for line in have}
    missing = next((line for line in wanted if line.rstrip() not in known), wanted[0])
    raise misplaced(f"the model changes lines that are not there: {missing.strip()!r}")


def _cuts_word(text: str, start: int, end: int) -> bool:
    """Whether an end of `text[start:end]` stands within a word."""
    return any(_WITHIN_WORD.match(text, at - 1) for at in (start, end) if 0 < at < len(text))


def _ends_line(parts: Sequence[Part]) -> bool:
    return bool(parts) and parts[-1].text.endswith("\n")


def _place_of_lines(have: Sequence[str], first: int, old: str, new: list[Part]) -> _Place:
    """Lines from `first` on equal `old` but for blanks at their ends, which unchanged ones keep."""
    wanted, text = _lines(old), "".join(part.text for part in new)
    written = text.split("\n")
    own = {j: have[first + i] for i, j in align(wanted, written)}
    parts: list[Part] = []
    at = 0
    for number, line in enumerate(written):
        end = at + len(line)
        parts += [Part(own[number], 0, 0)] if number in own else cut(new, at, end)
        parts += cut(new, end, end + 1)
        at = end + 1
    start = sum(len(line) + 1 for line in have[:first])
    length = sum(len(line) + 1 for line in have[first : first + len(wanted)])
    return _Place(start, start + length - (not old.endswith("\n")), parts)


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _similar(have: Sequence[str], wanted: Sequence[str]) -> list[int]:
    have, wanted = ([line.rstrip() for line in lines] for lines in (have, wanted))
    size = len(wanted)
    return [i for i in range(len(have) - size + 1) if have[i : i + size] == wanted]


def _found(text: str, wanted: str) -> Iterator[int]:
    """All places, those that overlap included."""
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def _grown(change: Change, by: int, old: Sequence[str]) -> Change:
    """With up to `by` more lines on either side, which old and new text have in common."""
    above = min(by, change.old_start, change.new_start)
    below = min(by, len(old) - change.old_end)
    return Change(
        change.old_start - above,
        change.old_end + below,
        change.new_start - above,
        change.new_end + below,
    )


def _merged(found: Sequence[Change]) -> Iterator[Change]:
    """Changes that touch as one."""
    last: Change | None = None
    for change in found:
        if last is not None and change.old_start <= last.old_end:
            last = Change(last.old_start, change.old_end, last.new_start, change.new_end)
            continue
        if last is not None:
            yield last
        last = change
    if last is not None:
        yield last
