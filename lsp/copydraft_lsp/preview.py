"""The edit so far, while the model still writes: its raw answer against the region.

A view only. The edit that is applied is the daemon's result, whose reading of the answer is
authoritative; this reads the default format, the region rewritten in one fence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from copydraft.protocol import Region, Span
from copydraft.textedits import align


class Hunk(NamedTuple):
    """Put `lines` in place of the region's lines [start, end); none of them has a line end."""

    start: int
    end: int
    lines: list[str]


_MARKDOWN = (".md", ".markdown", ".mdx", ".qmd")


class Preview:
    """Collects one answer."""

    def __init__(self, region: Region, lines: Sequence[str] = ()) -> None:
        """`lines` are the region's as the client counts them; none: no hunks are asked for."""
        self._old = [line.rstrip("\r\n") for line in lines]
        if self._old and region.start == 0:
            # The document's mark, which the model is not shown.
            self._old[0] = self._old[0].removeprefix("\ufeff")
        # As `copydraft.emission.fence` chooses it, for the whole document.
        longest = max((len(run) for run in re.findall("`+", region.text)), default=0)
        least = 4 if region.path.endswith(_MARKDOWN) else 3
        self._closing = re.compile(rf"`{{{max(least, longest + 1)},}}[ \t]*")
        self.text = ""
        """The raw answer so far."""
        self.spans: list[Span] = []
        """Where its parts were copied from, in order; they cover it."""
        self.tokens = 0

    def add(self, text: str, spans: Sequence[Span], tokens: int) -> None:
        at = len(self.text)
        self.text += text
        self.tokens = tokens
        for span in spans:
            start, end = at + span.start, at + span.end
            last = self.spans[-1] if self.spans else None
            if last and last.end == start and (last.corpus, last.path) == (span.corpus, span.path):
                start = last.start
                self.spans.pop()
            self.spans.append(Span(start=start, end=end, corpus=span.corpus, path=span.path))

    def hunks(self) -> list[Hunk]:
        """What differs between the region and the whole lines written so far.

        What follows the last line that both have is not reached yet: new lines there stand before
        the rest of the region.
        """
        new = self._lines()
        hunks = []
        i, j = 0, 0
        for a, b in align(self._old, new):
            if a > i or b > j:
                hunks.append(Hunk(i, a, new[j:b]))
            i, j = a + 1, b + 1
        if j < len(new):
            hunks.append(Hunk(i, i, new[j:]))
        return hunks

    def _lines(self) -> list[str]:
        # The answer begins behind the fence, where that names a language before its line's end;
        # its last line may still grow.
        text = self.text.removeprefix("\n")
        lines = [line.rstrip("\r") for line in text.split("\n")[:-1]]
        closed = next((k for k, line in enumerate(lines) if self._closing.fullmatch(line)), None)
        return lines[:closed]
