"""What each kind of request asks of the model, and what becomes of the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from copydraft.prompts import edit, explain
from copydraft.protocol import (
    EditFormat,
    EditRequest,
    ExplainRequest,
    Kind,
    RequestStats,
    Result,
    Span,
)
from copydraft.serving.loading import Loaded
from copydraft.serving.sequence import Reader
from copydraft.tokens import Document

Request = EditRequest | ExplainRequest

Finish = Callable[[str, str, Sequence[Span], RequestStats, Sequence[float]], Result]
"""Answer, stop reason, spans over the answer, statistics and margins to the result."""


@dataclass(frozen=True)
class Task:
    """A request in the model's terms."""

    prompt: list[int]
    documents: list[Document]
    """Sources of drafts; the prompt itself is one."""
    max_tokens: int
    reader: Reader
    finish: Finish


def kind_of(request: Request) -> Kind:
    return "edit" if isinstance(request, EditRequest) else "explain"


def format_of(request: Request, loaded: Loaded) -> EditFormat:
    """The format of the answer, as far as it matters for how text stands in it."""
    return (request.format or loaded.edit_format) if isinstance(request, EditRequest) else "plain"


def task_of(request: Request, loaded: Loaded) -> Task:
    """Build the prompt of a request and gather what to draft from.

    Raises:
        BadRequest: lines outside the document, no instruction, or too large for the context.
        ModelProblem: the model's chat template fails.
    """
    room = {"context": loaded.engine.context_size, "file_context": loaded.file_context}
    model, template = loaded.engine.model, loaded.template
    if isinstance(request, EditRequest):
        asked = edit.prepare(request, model, template, edit_format=loaded.edit_format, **room)
        return _task(asked, lambda *parts: edit.finish(asked, *parts))
    question = explain.prepare(request, model, template, **room)
    return _task(question, lambda *parts: explain.finish(question, *parts))


def _task(prepared: edit.Prepared | explain.Prepared, finish: Finish) -> Task:
    return Task(
        prompt=prepared.prompt,
        documents=[
            *prepared.documents,
            Document("session", prepared.request.region.path, "prompt", prepared.prompt),
        ],
        max_tokens=prepared.max_tokens,
        reader=prepared.reader,
        finish=finish,
    )
