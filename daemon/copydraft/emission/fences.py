"""Several fenced blocks one after another, with nothing but blank lines between them.

An answer of changes is asked for in one block, but models may give every change its own: to stop
behind the first one would make half of an edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from copydraft.emission.fence import Body, FenceFormat, FenceReader

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCES = ("```", "~~~")


def bodies(fence: FenceFormat, answer: str, *, ended: bool) -> Iterator[Body]:
    """What stands in the blocks, in order; places are those in `answer`.

    Raises:
        AnswerRefused: there is no block, or the end of one is missing.
    """
    at = 0
    while at == 0 or answer[at:].lstrip().startswith(_FENCES):
        text, start, end = fence.body(answer[at:], ended=ended)
        yield Body(text, at + start, at + end)
        at = (answer.find("\n", at + end) + 1) or len(answer)


class FencesReader:
    """Complete once text follows a closed block that does not begin another one."""

    def __init__(self, fence: FenceFormat) -> None:
        self._fence = fence
        self._block: FenceReader = fence.reader()
        self._line = ""

    def feed(self, delta: str) -> bool:
        *whole, self._line = (self._line + delta).split("\n")
        for line in whole:
            if self._block.finished and line.strip():
                if not line.lstrip().startswith(_FENCES):
                    return True
                self._block = self._fence.reader()
            self._block.feed(f"{line}\n")
        next_text = self._line.lstrip()
        return self._block.finished and next_text[:1] not in ("", "`", "~")
