"""Edit requests: the prompt that asks for a region rewritten, and the edit out of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from copydraft import protocol
from copydraft.prompts.template import ChatTemplate
from copydraft.tokens import Document, Tokenizer


class AnswerReader(Protocol):
    """Follows an answer as it is written."""

    def feed(self, delta: str) -> bool:
        """Take more of the answer; True: stop decoding, it is complete or endless."""
        ...


@dataclass(frozen=True)
class Prepared:
    """All that decoding needs to know of a request."""

    request: protocol.EditRequest
    prompt: list[int]
    documents: list[Document]
    """Sources of drafts, the likeliest first, as the model would print them."""
    max_tokens: int
    reader: AnswerReader


def prepare(
    request: protocol.EditRequest,
    tokenizer: Tokenizer,
    template: ChatTemplate,
    *,
    context: int,
    file_context: int,
) -> Prepared:
    """What to ask the model, within `context` tokens for prompt and answer together.

    At most about `file_context` tokens of the file are shown around the region.

    Raises:
        BadRequest: the lines are not in the document, the instruction is empty, or the region
            does not fit into the context.
        ModelProblem: the model's chat template fails.
    """
    raise NotImplementedError


def finish(
    prepared: Prepared,
    answer: str,
    stop_reason: str,
    spans: Sequence[protocol.Span],
    stats: protocol.RequestStats,
    margins: Sequence[float],
) -> protocol.EditResult:
    """The edit that the raw `answer` holds; `spans` cover the answer in order.

    Raises:
        AnswerRefused: it is empty, cut off, endless, without code, or has a placeholder.
    """
    raise NotImplementedError
