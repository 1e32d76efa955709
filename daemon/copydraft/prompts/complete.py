"""Completions: the prompt that asks for what belongs in the middle of a text, and that text.

The order of the parts is the one that a family of models was trained on (Bavarian et al. 2022;
the model cards of Qwen2.5-Coder, CodeGemma, StarCoder2, DeepSeek-Coder, Granite and Codestral):

* before, behind, middle; with the names of repository and file in front where the vocabulary has
  tokens for them (Qwen2.5-Coder's technical report);
* Mistral's: behind, before, and no token for the middle.

The line up to the place stands behind the middle's token, as if the model had written it: while
someone types in a line, all tokens before it stay the same and are not read again. The word that is
being typed is not in the prompt at all: its tokens would be others than those of the whole word. It
is what the answer has to begin with; so is blank space, which code's tokens begin with.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from copydraft.emission.format import Part
from copydraft.errors import BadRequest, ModelProblem
from copydraft.prompts.completion_end import Place, end_of, without_rest
from copydraft.prompts.restore import map_spans
from copydraft.prompts.surroundings import CHARS_PER_TOKEN, Surroundings, around
from copydraft.protocol import CompleteRequest, CompleteResult, RequestStats, Span
from copydraft.textedits import split_lines
from copydraft.tokens import Document, FillTokens, Tokenizer
from copydraft.workspace.documents import dominant_line_end

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN = 768
"""Tokens around the place, two thirds of them before it."""
_MAX_TOKENS = 64
_LEAST_SHOWN = 16
_MARKS = 3
_FAR_CHARS = 8192
"""Text beyond the window, on either side, that is copied from."""
_UNFINISHED = re.compile(r"(?:\s?\w{1,16}|\s?[^\w\s]+|\s+)\Z")
"""What of a line may be the beginning of a longer token."""


class CompletionReader:
    """Follows a completion as it is written."""

    hidden = held = 0
    """Nothing stands before it or behind it."""

    def __init__(self, place: Place, beginning: str) -> None:
        """`beginning` is the answer's, and not yet the completion."""
        self._place = place
        self._beginning = len(beginning)
        self._answer = ""

    def feed(self, delta: str) -> bool:
        """Take more of the answer; True: stop decoding, the completion has ended."""
        self._answer += delta
        return end_of(self._answer[self._beginning :], self._place) is not None


@dataclass(frozen=True)
class Prepared:
    """All that decoding needs to know of a request."""

    request: CompleteRequest
    prompt: list[int]
    documents: list[Document]
    """Text behind the place, the farthest first."""
    lead: Document
    """Text before the place, up to where the model begins to write: what it writes goes on there,
    and copies from there as from its own output."""
    max_tokens: int
    reader: CompletionReader
    ends: frozenset[int]
    """Tokens that end the completion, beside the model's own."""
    place: Place
    beginning: str
    """The end of the head, which the answer has to begin with."""


def prepare(
    request: CompleteRequest,
    tokenizer: Tokenizer,
    fill: FillTokens | None,
    *,
    context: int,
    first: str = "",
) -> Prepared:
    """What to ask the model, within `context` tokens for prompt and completion together.

    `fill` are the tokens of the model, `first` is the spelling of the one that it wants first.

    Raises:
        BadRequest: there is no such place in the text, or the context has no room for it.
        ModelProblem: the model has no tokens for completions.
    """
    if fill is None:
        raise ModelProblem(
            "the model cannot complete: its vocabulary has no tokens to fill in the middle",
            "choose one that can, as Qwen2.5-Coder: see `copydraft model list`",
        )
    wanted = request.generation.max_tokens or _MAX_TOKENS
    names = _names(request, tokenizer, fill)
    opening = [*tokenizer.encode(first, special=True), *names]
    room = context - wanted - len(opening) - _MARKS
    shown = min(request.generation.file_context or _SHOWN, room)
    if shown < _LEAST_SHOWN:
        raise BadRequest(
            f"a context of {context} tokens has no room for {wanted} tokens more",
            "ask for fewer, or raise the setting `context` and run `copydraft daemon restart`",
        )
    parts, before, behind = _fitted(request, tokenizer, shown)
    unfinished = _UNFINISHED.search(parts.head)
    beginning = unfinished[0] if unfinished else ""
    head = _encoded(parts.head.removesuffix(beginning), tokenizer)
    if fill.middle is None:
        prompt = [*opening, fill.behind, *behind, fill.before, *before, *head]
    else:
        prompt = [*opening, fill.before, *before, fill.behind, *behind, fill.middle, *head]
    far = _encoded(parts.far_before, tokenizer)
    place = Place(parts.head, parts.rest, parts.behind)
    return Prepared(
        request=request,
        prompt=prompt,
        documents=[
            Document("session", request.path, "file", _encoded(parts.far_behind, tokenizer)),
            Document("session", request.path, "file", behind),
        ],
        lead=Document("session", request.path, "file", [*far, *before, *head]),
        max_tokens=min(wanted + len(tokenizer.encode(beginning)), context - len(prompt)),
        reader=CompletionReader(place, beginning),
        ends=fill.ends,
        place=place,
        beginning=beginning,
    )


def finish(
    prepared: Prepared,
    answer: str,
    stop_reason: str,
    spans: Sequence[Span],
    stats: RequestStats,
    margins: Sequence[float],
) -> CompleteResult:
    """What to put in, out of the raw `answer`; `spans` cover the answer in order.

    Empty where the model has nothing to add.
    """
    place, document = prepared.place, prepared.request.text
    start = len(prepared.beginning)
    written = answer[start:] if answer.startswith(prepared.beginning) else ""
    text = written[: end_of(written, place, final=True)]
    cut_off = stop_reason in ("length", "context") and len(text) == len(written)
    if place.in_line:
        text = without_rest(text, place)
    else:
        whole_lines = text[: text.rfind("\n") + 1]
        text = (whole_lines if cut_off and whole_lines.strip() else text).rstrip()
    first_line = place.head + text.split("\n", 1)[0]
    if not text.strip() or not first_line.strip():
        # Nothing, or what leaves the place's line as blank as it is.
        text = ""
    parts = _parts(text, start, dominant_line_end(split_lines(document)) or "\n")
    return CompleteResult(
        text="".join(part.text for part in parts),
        spans=map_spans(parts, spans, prepared.request.path),
        stats=stats,
        margins=list(margins),
    )


def _names(request: CompleteRequest, tokenizer: Tokenizer, fill: FillTokens) -> list[int]:
    """Repository and file, as the model knows their names to stand in front of code."""
    tokens = []
    repository = posixpath.basename(request.generation.workspace.rstrip("/"))
    if fill.repository is not None and fill.file is not None and repository:
        tokens += [fill.repository, *tokenizer.encode(f"{repository}\n")]
    if fill.file is not None and request.path:
        tokens += [fill.file, *tokenizer.encode(f"{request.path}\n")]
    return tokens


def _fitted(
    request: CompleteRequest, tokenizer: Tokenizer, shown: int
) -> tuple[Surroundings, list[int], list[int]]:
    """The parts of the document, and the tokens before and behind the place: at most `shown`."""
    chars = shown * CHARS_PER_TOKEN
    while True:
        parts = around(
            request.text,
            request.offset,
            before=chars * 2 // 3,
            behind=chars // 3,
            far=_FAR_CHARS,
        )
        before = _encoded(parts.before, tokenizer)
        behind = _encoded(parts.rest + parts.behind, tokenizer)
        if len(before) + len(behind) + len(tokenizer.encode(parts.head)) <= shown:
            return parts, before, behind
        # Its text has more tokens than most: in fixed steps, so that the next place's is the same.
        chars = chars * 3 // 4


def _encoded(text: str, tokenizer: Tokenizer) -> list[int]:
    """Tokens that print `text`: without the blank that SentencePiece puts before the first word."""
    tokens = tokenizer.encode(text)
    if not tokens or text.startswith(" ") or not tokenizer.piece(tokens[0]).startswith(b" "):
        return tokens
    line_end = tokenizer.encode("\n")
    return tokenizer.encode(f"\n{text}")[len(line_end) :]


def _parts(text: str, start: int, line_end: str) -> list[Part]:
    """`text`, which stands at `start` in the answer, with the document's line ends."""
    parts = []
    for line in split_lines(text):
        content = line.rstrip("\r\n")
        parts.append(Part(content, start, start + len(content)))
        if content != line:
            parts.append(Part(line_end, start + len(content), start + len(line)))
        start += len(line)
    return [part for part in parts if part.text]
