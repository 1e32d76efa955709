"""Text in lines, and the difference of two texts as minimal edits or as a unified diff.

Offsets count Unicode code points. Both ends of the product use this module: it imports nothing
of ours.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Only these end a line, for editors and for LSP: not the form feeds and U+2028 of str.splitlines.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")

# What stands in a diff's header as in a string of C.
_ODD = re.compile(r'[\x00-\x1f\x7f"\\]')
_ESCAPES = {"\t": r"\t", "\n": r"\n", "\r": r"\r", '"': r"\"", "\\": r"\\"}


class TextEdit(NamedTuple):
    """Put `text` in place of [start, end)."""

    start: int
    end: int
    text: str


class Change(NamedTuple):
    """Lines [old_start, old_end) of the old text became [new_start, new_end) of the new one."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def split_lines(text: str) -> list[str]:
    r"""Lines with their ends; only `\n`, `\r\n` and `\r` end a line."""
    return _LINE.findall(text)


def line_end(line: str) -> str:
    """The end of one line of `split_lines`: "" for a last line without one."""
    return line[len(line.rstrip("\r\n")) :]


def align(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs (i, j) of equal lines, `old[i] == new[j]`, both rising.

    Lines that occur once on both sides are the anchors (patience diff), so that thousands of
    lines take milliseconds; difflib fills the gaps between them.
    """
    pairs = []
    i, j = 0, 0
    for anchor in [*_anchors(old, new), (len(old), len(new))]:
        a, b = anchor
        pairs += [(i + k, j + m) for k, m in _align_gap(old[i:a], new[j:b])]
        pairs.append(anchor)
        i, j = a + 1, b + 1
    return pairs[:-1]


def changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """What lies between the aligned lines, in order."""
    # Most texts differ in one place: only what lies between the equal ends is aligned.
    most = min(len(old), len(new))
    head = next((k for k in range(most) if old[k] != new[k]), most)
    tail = next((k for k in range(most - head) if old[-1 - k] != new[-1 - k]), most - head)
    ends = len(old) - tail, len(new) - tail
    pairs = align(old[head : ends[0]], new[head : ends[1]])
    found = []
    i, j = head, head
    for a, b in [*((head + a, head + b) for a, b in pairs), ends]:
        if a > i or b > j:
            found.append(Change(i, a, j, b))
        i, j = a + 1, b + 1
    return found


def minimal_edits(old: str, new: str) -> list[TextEdit]:
    """Edits that turn `old` into `new`: sorted, apart from each other, none without effect.

    No edit begins or ends inside a `\\r\\n`, which LSP could not address.
    """
    old_lines, new_lines = split_lines(old), split_lines(new)
    starts = [0]
    for line in old_lines:
        starts.append(starts[-1] + len(line))
    return [
        _trimmed(
            starts[change.old_start],
            "".join(old_lines[change.old_start : change.old_end]),
            "".join(new_lines[change.new_start : change.new_end]),
        )
        for change in changes(old_lines, new_lines)
    ]


def apply(text: str, edits: Iterable[TextEdit]) -> str:
    """`text` with sorted, non-overlapping edits made."""
    parts = []
    at = 0
    for edit in edits:
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:]])


def unified_diff(old: str, new: str, path: str, context: int = 3) -> str:
    r"""A diff that `patch` and `git apply` take; "" for equal texts.

    Lines are those that end in `\n`, as these tools count them: a `\r` stays part of its line.
    """
    old_lines, new_lines = _patch_lines(old), _patch_lines(new)
    parts = []
    for group in _hunks(changes(old_lines, new_lines), context):
        first, last = group[0], group[-1]
        lead = min(context, first.old_start)
        trail = min(context, len(old_lines) - last.old_end)
        a, b = first.old_start - lead, last.old_end + trail
        c, d = first.new_start - lead, last.new_end + trail
        parts.append(f"@@ -{_range(a, b)} +{_range(c, d)} @@\n")
        at = a
        for change in group:
            parts += _marked(" ", old_lines[at : change.old_start])
            parts += _marked("-", old_lines[change.old_start : change.old_end])
            parts += _marked("+", new_lines[change.new_start : change.new_end])
            at = change.old_end
        parts += _marked(" ", old_lines[at:b])
    name = posixpath.normpath(path).lstrip("/")
    head = f"--- {_header_name('a/' + name)}\n+++ {_header_name('b/' + name)}\n"
    return head + "".join(parts) if parts else ""


def _header_name(name: str) -> str:
    """As git writes it: odd characters in quotes; what follows a space belongs to it by a tab."""
    if _ODD.search(name):
        return f'"{_ODD.sub(_escaped, name)}"'
    return name + "\t" * (" " in name)


def _escaped(odd: re.Match[str]) -> str:
    character = odd[0]
    return _ESCAPES.get(character, f"\\{ord(character):03o}")


def _common_head(a: Sequence[str], b: Sequence[str]) -> int:
    size = min(len(a), len(b))
    return next((k for k in range(size) if a[k] != b[k]), size)


def _align_gap(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    # What is common at both ends goes first: difflib is slow on long repetitive texts.
    head = _common_head(old, new)
    tail = _common_head(old[head:][::-1], new[head:][::-1])
    middle = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail])
    pairs = [(k, k) for k in range(head)]
    for a, b, size in middle.get_matching_blocks():
        pairs += [(head + a + k, head + b + k) for k in range(size)]
    pairs += [(len(old) - k, len(new) - k) for k in range(tail, 0, -1)]
    return pairs


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The longest rising run of pairs of lines that occur once in each text."""
    old_count, new_count = Counter(old), Counter(new)
    place = {line: j for j, line in enumerate(new) if new_count[line] == 1}
    pairs = [
        (i, place[line]) for i, line in enumerate(old) if old_count[line] == 1 and line in place
    ]
    # Patience sorting: `ends[k]` is the pair with the smallest j that ends a run of k + 1.
    ends: list[int] = []
    before: list[int | None] = []
    lowest: list[int] = []
    for index, (_, j) in enumerate(pairs):
        k = bisect_left(lowest, j)
        before.append(ends[k - 1] if k else None)
        lowest[k : k + 1] = [j]
        ends[k : k + 1] = [index]
    run = []
    at = ends[-1] if ends else None
    while at is not None:
        run.append(pairs[at])
        at = before[at]
    return run[::-1]


def _trimmed(start: int, old: str, new: str) -> TextEdit:
    head = _common_head(old, new)
    if _splits_line_end(old, head) or _splits_line_end(new, head):
        head -= 1
    old, new = old[head:], new[head:]
    tail = _common_head(old[::-1], new[::-1])
    if _splits_line_end(old, len(old) - tail) or _splits_line_end(new, len(new) - tail):
        tail -= 1
    return TextEdit(start + head, start + head + len(old) - tail, new[: len(new) - tail])


def _splits_line_end(text: str, at: int) -> bool:
    return at > 0 and text[at - 1 : at + 1] == "\r\n"


def _patch_lines(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _hunks(found: Sequence[Change], context: int) -> Iterator[list[Change]]:
    """Changes whose contexts touch stand in one hunk."""
    group: list[Change] = []
    for change in found:
        if group and change.old_start - group[-1].old_end > 2 * context:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _range(start: int, end: int) -> str:
    """Lines as a hunk's header counts them: an empty range names the line before it."""
    count = end - start
    return f"{start + 1}" if count == 1 else f"{start + (count > 0)},{count}"


def _marked(sign: str, lines: Iterable[str]) -> list[str]:
    return [
        sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
        for line in lines
    ]
