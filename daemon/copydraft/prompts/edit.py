"""Edit requests: the prompt that asks for a region rewritten, and the edit out of the answer.

The prompt runs from what stays to what changes: the file, the region, the instruction. A second
edit of the same file finds most of it in the prefix cache. It ends inside the answer, with the
first characters of its format written: small models then neither chat nor forget it, and use a
fence of the right length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from copydraft.emission.fence import fence_around
from copydraft.emission.format import Part, cut
from copydraft.errors import AnswerRefused, BadRequest
from copydraft.prompts.checks import Endless, placeholder
from copydraft.prompts.context import Window, fit, plain, region_text, show
from copydraft.prompts.formats import ask_for
from copydraft.prompts.overlap import overlap
from copydraft.prompts.pieces import Piece, encode_answer
from copydraft.prompts.recent import show_edits
from copydraft.prompts.restore import map_spans, restore
from copydraft.prompts.template import ChatTemplate, Message
from copydraft.protocol import EditFormat, EditRequest, EditResult, RequestStats, Span
from copydraft.textedits import split_lines, unified_diff
from copydraft.tokens import Document, Tokenizer
from copydraft.workspace.documents import dominant_line_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copydraft.emission.format import EmissionFormat, FormatReader
    from copydraft.workspace.edits import RecentEdit

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

    hidden = held = 0
    """Clients get all of it, to find the edit so far in."""

    def __init__(self, form: FormatReader, unchanged: str) -> None:
        """`unchanged`: the answer that would leave the region as it is."""
        self._form = form
        self._endless = Endless(unchanged)

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
    text: str
    """The region as the model sees it."""


def prepare(
    request: EditRequest,
    tokenizer: Tokenizer,
    template: ChatTemplate,
    *,
    context: int,
    file_context: int,
    edit_format: EditFormat = "fence",
    edits: Sequence[RecentEdit] = (),
) -> Prepared:
    """What to ask the model, within `context` tokens for prompt and answer together.

    At most about `file_context` tokens of the file are shown around the region. `edit_format` is
    for requests that do not name one. Of `edits`, the latest first, those are shown that matter.

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
    form, system, tools = ask_for(
        request.format or edit_format,
        region.path,
        (plain(region.text), prediction),
        template,
        tokenizer.special_texts,
    )
    fence = fence_around(region.path, region.text, prediction)
    title = "Region to rewrite" if form.rewrites else "Region to change"

    made_before = show_edits(edits, text, instruction)

    def build(shown: Window) -> list[Piece]:
        user = f"{show(region, shown, title, fence)}{made_before}Instruction: {instruction}"
        messages = [Message("system", system), Message("user", user)]
        *pieces, turn = template.pieces(messages, tokenizer.special_texts, tools)
        return [*pieces, Piece(turn.text + form.opening, markup=True)]

    unchanged = form.emit(text, text)
    size = len(tokenizer.encode(text))
    printed = len(tokenizer.encode(unchanged.removeprefix(form.opening)))
    wanted = request.generation.max_tokens or size + printed + 512
    prompt = fit(build, region, tokenizer, most=context - wanted, file_context=file_context)
    room = context - len(prompt.tokens)
    if room < _least_room(size, printed):
        overhead = len(prompt.tokens) - size
        raise BadRequest(
            f"the selected lines are {size} tokens; a context of {context} tokens has room for "
            f"{max(0, _fitting(context - overhead, printed / size))}",
            "select fewer lines, or raise the setting `context` and run `copydraft daemon restart`",
        )
    reader = EditReader(form.reader(), unchanged)
    reader.feed(form.opening)

    def document(corpus: str, answer: str) -> Document:
        tokens = encode_answer(prompt.pieces, answer.removeprefix(form.opening), tokenizer)
        return Document(corpus, region.path, "text", tokens)

    documents = [document("region", unchanged)]
    if prediction:
        documents.insert(0, document("prediction", form.emit(text, prediction)))
    return Prepared(request, prompt.tokens, documents, min(wanted, room), reader, form, text)


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
    rewritten = prepared.format.rewrites
    found = prepared.format.parse(opening + answer, prepared.text, ended=ended)
    lines = split_lines(region.text)
    old = lines[region.start : region.end]
    written = split_lines("".join(part.text for part in found))
    head, tail = 0, 0
    if rewritten:
        around = (lines[: region.start], lines[region.end :])
        head, tail = overlap(*map(_contents, (written, old, *around)))
    kept = written[head : len(written) - tail]
    _check(written, kept, old, instruction)
    body, start = "".join(kept), sum(map(len, written[:head]))
    default_end = dominant_line_end(old) or dominant_line_end(lines) or "\n"
    parts = restore(body, old, default_end, instruction, rewritten=rewritten)
    text = "".join(part.text for part in parts)
    # From the answer, which goes on where its opening ends, over its text to the region's.
    of_answer = [
        Part(part.text, part.start - len(opening), part.end - len(opening))
        for part in cut(found, start, start + len(body))
    ]
    of_body = map_spans(of_answer, spans, region.path)
    new = "".join([*lines[: region.start], text, *lines[region.end :]])
    return EditResult(
        text=text,
        diff=unified_diff(region.text, new, region.path),
        spans=map_spans(parts, of_body, region.path),
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


def _least_room(size: int, printed: int) -> int:
    """Tokens of context that the answer to a region of `size` needs to have a chance."""
    return printed + size // 4 + 64


def _fitting(room: int, printed: float) -> int:
    """Tokens of a region that fit into `room`, shown and answered by `printed` tokens for each."""
    return int((room - 64) / (1.25 + printed))
