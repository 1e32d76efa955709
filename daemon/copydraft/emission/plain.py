"""The region's new text and nothing else: for models that were never taught to answer in form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from copydraft.emission.format import Part, Printed, cut_off
from copydraft.errors import AnswerRefused

if TYPE_CHECKING:
    from copydraft.protocol import EditFormat

_THINKING = re.compile(r"\s*<think>.*?(</think>|\Z)\n*", re.DOTALL)
_FENCE = re.compile(r"\s*(?:`{3}|~{3})")


class PlainReader:
    """Nothing in the answer tells its end: the model ends it."""

    def feed(self, delta: str) -> bool:  # noqa: ARG002  # the protocol's
        return False


@dataclass(frozen=True)
class PlainFormat:
    """No fence, no marker: the whole answer is the text."""

    name: EditFormat = "plain"
    opening: str = ""
    rewrites: bool = True

    def emit(self, old: str, new: str) -> str:  # noqa: ARG002  # the protocol's
        return new

    def printed(self, path: str, text: str) -> list[Printed]:  # noqa: ARG002  # the protocol's
        return [Printed("text", "", text)]

    def reader(self) -> PlainReader:
        return PlainReader()

    def parse(self, answer: str, region: str, *, ended: bool) -> list[Part]:
        """All of the answer but thinking before it.

        A fence that the region does not begin with is no text of a file's: what else stands
        around it is not known, and the answer is refused.
        """
        thinking = _THINKING.match(answer)
        start = thinking.end() if thinking else 0
        if not ended:
            raise cut_off()
        if thinking and not thinking[1]:
            raise AnswerRefused(
                "the model thought and gave no answer",
                "try again with a clearer instruction or a larger model",
            )
        if _FENCE.match(answer, start) and not _FENCE.match(region):
            raise AnswerRefused(
                "the model answered with a code block, not with plain text",
                'use the format "fence" (setting `edit_format`)',
            )
        return [Part(answer[start:], start, len(answer))]
