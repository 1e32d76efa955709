"""Explain requests: the prompt that asks what a region does, and Markdown out of the answer.

A question that follows on others gets their prompt with the answers, then itself: all that the
model has read or written before is found in the prefix cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from copydraft.emission.fence import fence_around
from copydraft.emission.format import Part
from copydraft.errors import AnswerRefused, BadRequest
from copydraft.prompts.checks import Endless
from copydraft.prompts.context import Prompt, Window, fit, region_text, show
from copydraft.prompts.pieces import Piece
from copydraft.prompts.restore import map_spans
from copydraft.prompts.template import ChatTemplate, Message
from copydraft.prompts.thinking import start_of_answer
from copydraft.protocol import ExplainRequest, ExplainResult, RequestStats, Span
from copydraft.tokens import Document, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

_SYSTEM = "You explain code to a programmer. Answer in Markdown, briefly and to the point."
_QUESTION = "Explain what this code does and how."
_MAX_TOKENS = 512
_LEAST_ROOM = 128


class ExplainReader:
    """Follows an answer as it is written."""

    held = 0

    def __init__(self) -> None:
        self._endless = Endless()
        self._beginning = ""
        self.hidden = 0
        """Characters before the explanation: thinking, and blank space."""

    @property
    def endless(self) -> bool:
        return self._endless.found

    def feed(self, delta: str) -> bool:
        """Take more of the answer; True: stop decoding, it is endless."""
        if self.hidden == len(self._beginning):
            self._beginning += delta
            self.hidden = start_of_answer(self._beginning)
        return self._endless.feed(delta)


@dataclass(frozen=True)
class Prepared:
    """All that decoding needs to know of a request."""

    request: ExplainRequest
    prompt: list[int]
    documents: list[Document]
    max_tokens: int
    reader: ExplainReader
    notices: tuple[str, ...]
    """What the user should know."""


def prepare(
    request: ExplainRequest,
    tokenizer: Tokenizer,
    template: ChatTemplate,
    *,
    context: int,
    file_context: int,
) -> Prepared:
    """As `edit.prepare`, with the same errors; what is drafted from is in the prompt.

    Of the conversation so far, the oldest turns are left out where the context is too small, but
    their answers are drafted from.
    """
    region = request.region
    text = region_text(region)
    if request.turns and not request.question.strip():
        raise BadRequest("the question is empty", "say what else you want to know")
    fence = fence_around(region.path, region.text)
    questions = [turn.question.strip() or _QUESTION for turn in request.turns]
    questions.append(request.question.strip() or _QUESTION)

    def prompt_without(oldest: int) -> Prompt:
        def build(shown: Window) -> list[Piece]:
            first, *later = questions[oldest:]
            user = show(region, shown, "Code in question", fence) + first
            messages = [Message("system", _SYSTEM), Message("user", user)]
            for turn, question in zip(request.turns[oldest:], later, strict=True):
                messages += [Message("assistant", turn.answer), Message("user", question)]
            return template.pieces(messages, tokenizer.special_texts)

        return fit(build, region, tokenizer, most=most, file_context=file_context)

    wanted = request.generation.max_tokens or _MAX_TOKENS
    most = context - wanted
    left_out = 0
    prompt = prompt_without(0)
    while len(prompt.tokens) > most and left_out < len(request.turns):
        left_out += 1
        prompt = prompt_without(left_out)
    room = context - len(prompt.tokens)
    if room < _LEAST_ROOM:
        size = len(tokenizer.encode(text))
        raise BadRequest(
            f"the selected lines are {size} tokens; a context of {context} tokens has room for "
            f"{max(0, size + room - _LEAST_ROOM)}",
            "select fewer lines, or raise the setting `context` and run `copydraft daemon restart`",
        )
    documents = [
        Document("session", region.path, "answer", tokenizer.encode(turn.answer))
        for turn in request.turns[:left_out]
    ]
    notices = (_left_out(left_out),) if left_out else ()
    return Prepared(request, prompt.tokens, documents, min(wanted, room), ExplainReader(), notices)


def _left_out(turns: int) -> str:
    oldest = "oldest question is" if turns == 1 else f"{turns} oldest questions are"
    return f"the conversation is too long for the context: its {oldest} left out"


def finish(
    prepared: Prepared,
    answer: str,
    stop_reason: str,  # noqa: ARG001  (an explanation that was cut off still explains)
    spans: Sequence[Span],
    stats: RequestStats,
    margins: Sequence[float],
) -> ExplainResult:
    """The explanation in the raw `answer`, thinking and surrounding blank space dropped.

    Raises:
        AnswerRefused: it is empty or endless.
    """
    if prepared.reader.endless:
        raise AnswerRefused(
            "the model repeated itself without end",
            "ask about fewer lines, or with a larger model",
        )
    start = start_of_answer(answer, ended=True)
    text = answer[start:].rstrip()
    if not text:
        raise AnswerRefused("the model's answer is empty", "ask again in other words")
    parts = [Part(text, start, start + len(text))]
    return ExplainResult(
        text=text,
        spans=map_spans(parts, spans, prepared.request.region.path),
        stats=stats,
        margins=list(margins),
    )
