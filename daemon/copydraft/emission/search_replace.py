"""Search/replace blocks: the lines to change, then the lines in their place, as merge conflicts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from copydraft.emission.fence import FenceFormat, fenced, whole_lines
from copydraft.emission.fences import FencesReader, bodies
from copydraft.emission.format import Part, Printed, misplaced
from copydraft.emission.replacing import Replacement, replaced, unique_changes
from copydraft.textedits import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from copydraft.protocol import EditFormat

_SHORTEST = 7
SEARCH_LINE = "<" * _SHORTEST + " SEARCH"
DIVIDER = "=" * _SHORTEST
_MARKER_RUN = re.compile(r"^(?:<{7,}|={7,}|>{7,})", re.MULTILINE)


@dataclass(frozen=True)
class SearchReplaceFormat:
    """All blocks in one fence; markers have `width` signs, more than any line in the document."""

    fence: FenceFormat
    width: int = _SHORTEST
    name: EditFormat = "search-replace"
    rewrites: bool = False

    @classmethod
    def for_document(cls, path: str, *texts: str) -> SearchReplaceFormat:
        """Fence and markers for any region of a document."""
        longest = max((len(run) for text in texts for run in _MARKER_RUN.findall(text)), default=0)
        return cls(FenceFormat.for_document(path, *texts), max(_SHORTEST, longest + 1))

    @property
    def search_line(self) -> str:
        return "<" * (self.width - _SHORTEST) + SEARCH_LINE

    @property
    def divider(self) -> str:
        return "=" * self.width

    @property
    def replace_line(self) -> str:
        return ">" * self.width + " REPLACE"

    @property
    def opening(self) -> str:
        return f"{self.fence.fence}{self.fence.info}\n{self.search_line}"

    def emit(self, old: str, new: str) -> str:
        before, after = split_lines(whole_lines(old)), split_lines(whole_lines(new))
        blocks = [
            "".join(
                [
                    f"{self.search_line}\n",
                    *before[change.old_start : change.old_end],
                    f"{self.divider}\n",
                    *after[change.new_start : change.new_end],
                    f"{self.replace_line}\n",
                ]
            )
            for change in unique_changes(before, after)
        ]
        return fenced("".join(blocks), self.fence.fence, self.fence.info)

    def printed(self, path: str, text: str) -> list[Printed]:  # noqa: ARG002  # the protocol's
        body = f"\n{whole_lines(text)}"
        return [
            Printed("old", self.search_line, body + self.divider),
            Printed("new", self.divider, body + self.replace_line),
        ]

    def reader(self) -> FencesReader:
        return FencesReader(self.fence)

    def parse(self, answer: str, region: str, *, ended: bool) -> list[Part]:
        found = bodies(self.fence, answer, ended=ended)
        blocks = [block for body in found for block in self._blocks(body.text, body.start)]
        if not blocks:
            raise misplaced("the model answered without a search/replace block")
        return replaced(region, blocks, lines=True)

    def _blocks(self, body: str, offset: int) -> Iterator[Replacement]:
        """The blocks in `body`, which starts at `offset` in the answer; lines between are prose."""
        n = self.width
        search = re.compile(rf"<{{{n}}}\s*SEARCH\s*")
        divide = re.compile(rf"={{{n}}}\s*")
        replace = re.compile(rf">{{{n}}}\s*REPLACE\s*")
        old: list[str] | None = None
        new_start: int | None = None
        at = 0
        for line in body.split("\n"):
            if old is None:
                old = [] if search.fullmatch(line) else None
            elif new_start is None:
                if divide.fullmatch(line):
                    new_start = at + len(line) + 1
                else:
                    old.append(f"{line}\n")
            elif replace.fullmatch(line):
                new = Part(body[new_start:at], offset + new_start, offset + at)
                yield Replacement("".join(old), [new])
                old = new_start = None
            at += len(line) + 1
        if old is not None:
            raise misplaced("the model left a search/replace block open")
