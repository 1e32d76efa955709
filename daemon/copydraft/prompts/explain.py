"""Explain requests: the prompt that asks what a region does, and Markdown out of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from copydraft import protocol
from copydraft.prompts.edit import AnswerReader
from copydraft.prompts.template import ChatTemplate
from copydraft.tokens import Document, Tokenizer


@dataclass(frozen=True)
class Prepared:
    """All that decoding needs to know of a request."""

    request: protocol.ExplainRequest
    prompt: list[int]
    documents: list[Document]
    max_tokens: int
    reader: AnswerReader


def prepare(
    request: protocol.ExplainRequest,
    tokenizer: Tokenizer,
    template: ChatTemplate,
    *,
    context: int,
    file_context: int,
) -> Prepared:
    """As `edit.prepare`, with the same errors."""
    raise NotImplementedError


def finish(
    prepared: Prepared,
    answer: str,
    stop_reason: str,
    spans: Sequence[protocol.Span],
    stats: protocol.RequestStats,
    margins: Sequence[float],
) -> protocol.ExplainResult:
    """The explanation in the raw `answer`, thinking and surrounding blank space dropped.

    Raises:
        AnswerRefused: it is empty or endless.
    """
    raise NotImplementedError
