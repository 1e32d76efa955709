"""Edit requests: the prompt that asks for a region rewritten, and the edit out of the answer.

The prompt runs from what stays to what changes: the file, the region, the instruction. A second
edit of the same file finds most of it in the prefix cache. It ends inside the answer, with the
opening fence written: small models then neither chat nor forget it, and use the right length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from copydraft.emission.fence import FenceFormat
from copydraft.errors import AnswerRefused, BadRequest
from copydraft.prompts.checks import Endless, placeholder
from copydraft.prompts.context import Window, fit, plain, region_text, show
from copydraft.prompts.overlap import overlap
from copydraft.prompts.restore import map_spans, restore
from copydraft.prompts.template import ChatTemplate, Message, Piece, encode_answer
from copydraft.protocol import EditRequest, EditResult, RequestStats, Span
from copydraft.textedits import split_lines, unified_diff
from copydraft.tokens import Document, Tokenizer
from copydraft.workspace.documents import dominant_line_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copydraft.emission.format import EmissionFormat, FormatReader

_SYSTEM = (
    "You edit code. Rewrite the region as instructed and output only the rewritten region in one "
    "fenced code block."
)
_DELETES_ALL = re.compile(
    r"""(?:please\s+)?(?:delete|remove|drop|erase|cut|get\s+rid\s+of)
    (?:\s+(?:this|these|it|everything|all(?:\s+of\s+(?:it|this|these))?
      |(?:all(?:\s+of)?\s+)?(?:the|this|these)(?:\s+selected)?\s+
        (?:lines?|region|code|block|function|method|class|section|file|paragraph)))?
    (?:,?\s+please)?\s*[.!]*""",
    re.VERBOSE | re.IGNORECASE,
)
"""Asks for the region itself to go, not for something in it."""


class EditReader:
    """Follows an answer as it is written."""

    def __init__(self, form: FormatReader, region: str) -> None:
        self._form = form
        self._endless = Endless(region)

    @property
    def endless(self) -> bool:
        return self._endless.found

    def feed(self, delta: str) -> bool:
        """Take more of the answer; True: stop decoding, it is complete or endless."""
        return self._form.feed(delta) or self._endless.feed(delta)


@dataclass(frozen=True)
class Prepared:
    """All that decoding needs to know of a request."""

    request: EditRequest
    prompt: list[int]
    documents: list[Document]
    """Sources of drafts, the likeliest first, as the model would print them after the prompt."""
    max_tokens: int
    reader: EditReader
    format: EmissionFormat


def prepare(
    request: EditRequest,
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
    region = request.region
    text, prediction = region_text(region), plain(request.prediction)
    instruction = request.instruction.strip()
    if not instruction:
        raise BadRequest("the instruction is empty", "say what to change")
    form = FenceFormat.for_document(region.path, region.text, prediction)

    def build(shown: Window) -> list[Piece]:
        user = f"{show(region, shown, 'Region to rewrite', form.fence)}Instruction: {instruction}"
        messages = [Message("system", _SYSTEM), Message("user", user)]
        *pieces, turn = template.pieces(messages, tokenizer.special_texts)
        return [*pieces, Piece(turn.text + form.opening, markup=True)]

    size = len(tokenizer.encode(text))
    wanted = request.generation.max_tokens or 2 * size + 512
    prompt = fit(build, region, tokenizer, most=context - wanted, file_context=file_context)
    room = context - len(prompt.tokens)
    if room < _least_room(size):
        overhead = len(prompt.tokens) - size
        raise BadRequest(
            f"the selected lines are {size} tokens; a context of {context} tokens has room for "
            f"{max(0, _fitting(context - overhead))}",
            "select fewer lines, or raise the setting `context` and run `copydraft daemon restart`",
        )
    reader = EditReader(form.reader(), text)
    reader.feed(form.opening)

    def document(corpus: str, body: str) -> Document:
        printed = form.emit(body).removeprefix(form.opening)
        tokens = encode_answer(prompt.pieces, printed, tokenizer)
        return Document(corpus, region.path, "text", tokens)

    documents = [document("region", text)]
    if prediction:
        documents.insert(0, document("prediction", prediction))
    return Prepared(request, prompt.tokens, documents, min(wanted, room), reader, form)


def finish(
    prepared: Prepared,
    answer: str,
    stop_reason: str,
    spans: Sequence[Span],
    stats: RequestStats,
    margins: Sequence[float],
) -> EditResult:
    """The edit that the raw `answer` holds; `spans` cover the answer in order.

    Raises:
        AnswerRefused: it is empty, cut off, endless, repeats only what stands around the region,
            or has a placeholder.
    """
    region, instruction = prepared.request.region, prepared.request.instruction
    if prepared.reader.endless:
        raise AnswerRefused(
            "the model repeated itself without end",
            "try again with a clearer instruction or a larger model",
        )
    opening = prepared.format.opening
    ended = stop_reason not in ("length", "context")
    body, start, _ = prepared.format.parse(opening + answer, ended=ended)
    lines = split_lines(region.text)
    old = lines[region.start : region.end]
    written = split_lines(body)
    head, tail = overlap(
        *(_contents(part) for part in (written, old, lines[: region.start], lines[region.end :]))
    )
    start += sum(map(len, written[:head]))
    kept = written[head : len(written) - tail]
    _check(written, kept, old, instruction)
    body = "".join(kept)
    default_end = dominant_line_end(old) or dominant_line_end(lines) or "\n"
    parts = restore(body, start - len(opening), old, default_end, instruction)
    text = "".join(part.text for part in parts)
    new = "".join([*lines[: region.start], text, *lines[region.end :]])
    return EditResult(
        text=text,
        diff=unified_diff(region.text, new, region.path),
        spans=map_spans(parts, spans, region.path),
        stats=stats,
        answer=opening + answer,
        margins=list(margins),
    )


def _check(written: Sequence[str], kept: Sequence[str], old: Sequence[str], wish: str) -> None:
    """Refuse an answer that is no code; `kept` is the part of it that is for the region.

    Raises:
        AnswerRefused: it is empty though nothing was to be deleted, or has a placeholder.
    """
    deletes = _DELETES_ALL.fullmatch(wish.strip())
    if not _blank(written) and _blank(kept) and not deletes:
        raise AnswerRefused(
            "the model only repeated the lines around the selected ones",
            "select them too, or try again with a larger model",
        )
    if _blank(kept) and not _blank(old) and not deletes:
        raise AnswerRefused(
            "the model's answer is empty",
            "if the lines are to go, say just that: delete these lines",
        )
    if found := placeholder(kept, old):
        raise AnswerRefused(
            f"the model left code out: {found!r}",
            "select fewer lines, or try again with a larger model",
        )


def _blank(lines: Sequence[str]) -> bool:
    return not any(line.strip() for line in lines)


def _contents(lines: Sequence[str]) -> list[str]:
    return [line.rstrip("\r\n") for line in lines]


def _least_room(size: int) -> int:
    """Tokens of context that an answer needs to have a chance."""
    return size + size // 4 + 64


def _fitting(room: int) -> int:
    """Tokens of a region that fit twice, shown and rewritten, into `room`."""
    return (room - 64) * 4 // 9
