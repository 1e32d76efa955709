"""A unified diff of the region. Its line numbers are not read: models cannot count lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from copydraft.emission.fence import FenceFormat, fence_around, whole_lines
from copydraft.emission.fences import FencesReader, bodies
from copydraft.emission.format import Part, Printed, misplaced
from copydraft.emission.replacing import Replacement, replaced, unique_changes
from copydraft.textedits import Change, changes, split_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from copydraft.protocol import EditFormat

_HEADER = "---"
_HUNK = "@@"


@dataclass(frozen=True)
class UnifiedDiffFormat:
    """One diff of the file at `path`, in a fence."""

    path: str
    fence: FenceFormat
    name: EditFormat = "unified-diff"
    rewrites: bool = False

    @classmethod
    def for_document(cls, path: str, *texts: str) -> UnifiedDiffFormat:
        return cls(path, FenceFormat(fence_around(path, *texts), "diff"))

    @property
    def opening(self) -> str:
        return f"{self.fence.opening}\n{_HEADER}"

    def emit(self, old: str, new: str) -> str:
        before, after = split_lines(whole_lines(old)), split_lines(whole_lines(new))
        hunks = [
            _hunk(
                change,
                before[change.old_start : change.old_end],
                after[change.new_start : change.new_end],
            )
            for change in unique_changes(before, after)
        ]
        path = self.path.lstrip("/")
        head = f"{self.opening} a/{path}\n+++ b/{path}\n"
        return "".join([head, *hunks, self.fence.fence])

    def printed(self, path: str, text: str) -> list[Printed]:
        lines = split_lines(whole_lines(text))
        return [
            Printed("path", _HEADER, f" a/{path.lstrip('/')}\n+++ b/{path.lstrip('/')}\n"),
            Printed("old", f"{_HUNK} -1 +1 {_HUNK}", "\n" + _marked(" ", lines)),
            Printed("new", f"{_HUNK} -1 +1 {_HUNK}", "\n" + _marked("+", lines)),
        ]

    def reader(self) -> FencesReader:
        return FencesReader(self.fence)

    def parse(self, answer: str, region: str, *, ended: bool) -> list[Part]:
        found = bodies(self.fence, answer, ended=ended)
        hunks = [hunk for body in found for hunk in _hunks(body.text, body.start)]
        if not hunks:
            raise misplaced(f"the model's diff has no line that begins with {_HUNK}")
        return replaced(region, hunks, lines=True)


def _hunk(change: Change, old: Sequence[str], new: Sequence[str]) -> str:
    """One hunk, as `diff -u` writes it."""
    parts = [
        f"{_HUNK} -{change.old_start + 1},{len(old)} +{change.new_start + 1},{len(new)} {_HUNK}\n"
    ]
    at = 0
    for inner in changes(old, new):
        parts += [
            _marked(" ", old[at : inner.old_start]),
            _marked("-", old[inner.old_start : inner.old_end]),
            _marked("+", new[inner.new_start : inner.new_end]),
        ]
        at = inner.old_end
    return "".join([*parts, _marked(" ", old[at:])])


def _marked(sign: str, lines: Sequence[str]) -> str:
    return "".join(sign + line for line in lines)


def _hunks(body: str, offset: int) -> Iterator[Replacement]:
    """The hunks in `body`, which starts at `offset` in the answer; what precedes them is skipped.

    A blank line at a hunk's end may as well stand before the fence: it is no context.
    """
    old: list[str] = []
    new: list[Part] = []
    blanks: list[Part] = []
    begun = False
    for line in split_lines(body):
        sign, rest = line[:1], Part(line[1:], offset + 1, offset + len(line))
        if line == "\n":
            blanks.append(Part(line, offset, offset + 1))
        elif line.startswith(_HUNK):
            if begun:
                yield Replacement("".join(old), new)
            old, new, blanks, begun = [], [], [], True
        elif begun and sign != "\\":
            old += [blank.text for blank in blanks]
            new += blanks
            blanks = []
            if sign not in (" ", "-", "+"):
                raise misplaced(f"a line of the model's diff has no sign: {line.strip()!r}")
            # The answer's last line may lack its end; a line of a diff is a whole one.
            end = [] if line.endswith("\n") else [Part("\n", 0, 0)]
            if sign != "+":
                old += [part.text for part in (rest, *end)]
            if sign != "-":
                new += [rest, *end]
        offset += len(line)
    if begun:
        yield Replacement("".join(old), new)
