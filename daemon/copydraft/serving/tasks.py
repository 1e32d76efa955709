"""What each kind of request asks of the model, and what becomes of the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from copydraft.drafting.candidate import common_length
from copydraft.prompts import chat, complete, edit, explain
from copydraft.protocol import (
    ChatRequest,
    CompleteRequest,
    EditFormat,
    EditRequest,
    ExplainRequest,
    Kind,
    PrepareRequest,
    RequestStats,
    Result,
    Span,
)
from copydraft.serving.loading import Loaded
from copydraft.serving.sequence import Reader
from copydraft.tokens import Document, Quotation
from copydraft.workspace.edits import RecentEdit

Question = EditRequest | ExplainRequest | CompleteRequest | ChatRequest
"""A request that the model answers."""

Finish = Callable[[str, str, Sequence[Span], RequestStats, Sequence[float]], Result]
"""Answer, stop reason, spans over the answer, statistics and margins to the result."""


@dataclass(frozen=True)
class Task:
    """A request in the model's terms."""

    prompt: list[int]
    documents: list[Document]
    """Sources of drafts; the prompt itself, or its parts, are among them."""
    max_tokens: int
    reader: Reader
    finish: Finish
    quotations: Sequence[Quotation] = ()
    """How the answer may quote what it then writes anew."""
    ends: frozenset[int] = frozenset()
    """Tokens that end the answer, beside the model's own."""
    lead: Document | None = None
    """What stands right before the first token of the answer, where the answer goes on with it."""
    beginning: str = ""
    """What the answer has to begin with."""
    notices: tuple[str, ...] = ()
    """What the user should know of how the request was understood."""
    spelled: Mapping[int, bytes] = field(default_factory=dict)
    """Control tokens that are to stand in the answer's text, and how."""


def kind_of(request: Question) -> Kind:
    match request:
        case EditRequest():
            return "edit"
        case ExplainRequest():
            return "explain"
        case CompleteRequest():
            return "complete"
        case ChatRequest():
            return "chat"


def path_of(request: Question) -> str:
    """The document that a request is about; "" for a chat."""
    match request:
        case CompleteRequest():
            return request.path
        case ChatRequest():
            return ""
        case _:
            return request.region.path


def format_of(request: Question, loaded: Loaded) -> EditFormat:
    """The format of the answer, as far as it matters for how text stands in it."""
    match request:
        case EditRequest():
            return request.format or loaded.edit_format
        case ChatRequest():
            return "tool-call" if request.tools else "plain"
        case _:
            return "plain"


def task_of(request: Question, loaded: Loaded, edits: Sequence[RecentEdit] = ()) -> Task:
    """Build the prompt of a request and gather what to draft from; `edits` are the latest first.

    Raises:
        BadRequest: lines outside the document, no instruction, or too large for the context.
        ModelProblem: the model's chat template fails, or it cannot do what is asked.
    """
    model, template = loaded.engine.model, loaded.template
    context = loaded.engine.context_size
    if isinstance(request, CompleteRequest):
        first = model.bos_text if model.adds_bos else ""
        gap = complete.prepare(request, model, model.fill_tokens, context=context, first=first)
        return Task(
            prompt=gap.prompt,
            documents=gap.documents,
            max_tokens=gap.max_tokens,
            reader=gap.reader,
            finish=lambda *parts: complete.finish(gap, *parts),
            ends=gap.ends,
            lead=gap.lead,
            beginning=gap.beginning,
        )
    if isinstance(request, ChatRequest):
        said = chat.prepare(
            *(request, model, template, loaded.call_shape),
            context=context,
            printed=loaded.printed,
        )
        return Task(
            prompt=said.prompt,
            documents=said.documents,
            max_tokens=said.max_tokens,
            reader=said.reader,
            finish=lambda *parts: chat.finish(said, *parts),
            quotations=said.quotations,
            spelled=said.spelled,
        )
    file_context = request.generation.file_context or loaded.file_context
    room = {"context": context, "file_context": file_context}
    if isinstance(request, EditRequest):
        asked = edit.prepare(
            request, model, template, edit_format=loaded.edit_format, edits=edits, **room
        )
        return _task(asked, lambda *parts: edit.finish(asked, *parts))
    question = explain.prepare(request, model, template, **room)
    return _task(
        question, lambda *parts: explain.finish(question, *parts), notices=question.notices
    )


def known_part(
    request: PrepareRequest, loaded: Loaded, edits: Sequence[RecentEdit] = ()
) -> list[int]:
    """The tokens of a prompt that are the same whatever the instruction or question will be.

    Raises:
        BadRequest, ModelProblem: as for the request that is to come.
    """

    def prompt(words: str) -> list[int]:
        region, generation = request.region, request.generation
        if request.kind == "edit":
            asked: Question = EditRequest(
                region=region, instruction=words, format=request.format, generation=generation
            )
        else:
            asked = ExplainRequest(region=region, question=words, generation=generation)
        return task_of(asked, loaded, edits).prompt

    # A word's first token has the blank before it, in most vocabularies; a sign's may not.
    one, other = prompt("in"), prompt("?")
    return one[: common_length(one, other)]


def _task(
    prepared: edit.Prepared | explain.Prepared, finish: Finish, notices: tuple[str, ...] = ()
) -> Task:
    return Task(
        prompt=prepared.prompt,
        documents=[
            *prepared.documents,
            Document("session", prepared.request.region.path, "prompt", prepared.prompt),
        ],
        max_tokens=prepared.max_tokens,
        reader=prepared.reader,
        finish=finish,
        notices=notices,
    )
