"""Inline completion (`textDocument/inlineCompletion` of LSP 3.18): what goes on at the cursor.

What the editor asks for by itself while the user types must not disturb: it starts no daemon, loads
no model, waits until the typing pauses, and is answered once for each change, where the change is.
The next change or request of the document ends it. What the user asks for does all of these.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import msgspec
from lsprotocol import types

from copydraft.client import Client
from copydraft.errors import Cancelled, CopydraftError, DaemonUnavailable, ModelProblem
from copydraft.protocol import CompleteRequest, CompleteResult, ModelStatus
from copydraft_lsp import target
from copydraft_lsp.convert import place, to_character
from copydraft_lsp.documents import Document, LineChange
from copydraft_lsp.faults import answered, one_line
from copydraft_lsp.places import folders, place_of, shown_path
from copydraft_lsp.stream import result_of

if TYPE_CHECKING:
    from copydraft_lsp.jobs import Job
    from copydraft_lsp.server import CopydraftServer

PAUSE_S = 0.15
"""The typing pauses when there was no change for so long."""

_BOM = "\ufeff"
_AUTOMATIC = types.InlineCompletionTriggerKind.Automatic
_NOTHING = types.InlineCompletionList([])


def register(server: CopydraftServer) -> None:
    completer = Completer(server)
    server.completion_state = completer.state

    # Without options of its own, pygls does not advertise it.
    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())
    @answered
    async def complete(params: types.InlineCompletionParams) -> types.InlineCompletionList:
        return await completer.complete(params)


class Completer:
    """Completes in the documents of one server."""

    def __init__(self, server: CopydraftServer) -> None:
        self._server = server
        self._running: dict[Document, Job] = {}
        self._answered: WeakKeyDictionary[Document, int] = WeakKeyDictionary()
        """The version in which a document was completed last without being asked for."""
        self._problem = ""
        """What was in the way of the last completion; "": nothing."""

    def state(self, loaded: ModelStatus | None) -> str:
        """`on`, or why nothing is completed, with this model or none in memory."""
        problem = _inability(loaded) if loaded else self._problem
        if not self._server.settings.completion:
            problem = "the setting `completion` is off"
        return f"off: {problem}" if problem else "on"

    async def complete(self, params: types.InlineCompletionParams) -> types.InlineCompletionList:
        """One item, or none.

        Raises:
            CopydraftError: the user asked for it, and it cannot be done.
        """
        document = self._server.documents.get(params.text_document.uri)
        settings = self._server.settings
        if not document or not settings.completion or not self._server.sender.may_be_sent(document):
            return _NOTHING
        unasked = params.context.trigger_kind == _AUTOMATIC
        if unasked and not self._is_typed(document, params.position.line):
            return _NOTHING
        if before := self._running.get(document):
            before.fail(_overtaken())
        try:
            with self._server.jobs.started("") as job:
                return await self._while_unchanged(document, job, params.position, unasked)
        except Cancelled:
            # By us, or by the daemon for an edit.
            return _NOTHING
        except CopydraftError as fault:
            if not unasked:
                raise
            self._server.note(f"not completed: {one_line(fault)}")
            return _NOTHING

    def _is_typed(self, document: Document, line: int) -> bool:
        """Whether the cursor is where the document was changed just now, or was only moved."""
        changed = document.changed_lines
        return (
            document.in_step
            and changed is not None
            and changed[0] <= line <= changed[1]
            and self._answered.get(document) != document.version
        )

    async def _while_unchanged(
        self, document: Document, job: Job, position: types.Position, unasked: bool
    ) -> types.InlineCompletionList:
        def overtake(_: LineChange | None) -> None:
            job.fail(_overtaken())

        self._running[document] = job
        document.listeners.add(overtake)
        try:
            if unasked:
                await asyncio.sleep(PAUSE_S)
            return await self._ask(document, position, unasked)
        finally:
            document.listeners.discard(overtake)
            if self._running.get(document) is job:
                del self._running[document]

    async def _ask(
        self, document: Document, position: types.Position, unasked: bool
    ) -> types.InlineCompletionList:
        server = self._server
        target.known(server, document.uri)
        generation = target.generation(server, document)
        if unasked:
            model = await self._loaded()
            if model is None:
                return _NOTHING
            generation = msgspec.structs.replace(generation, model=model.path)
        line, index = place(document.lines, position, server.documents.encoding, document.ends)
        before = "".join(document.lines[:line])
        here = document.lines[line][:index] if line < len(document.lines) else ""
        roots = folders(server)
        sent = place_of(document, roots)
        request = CompleteRequest(
            # The name that the sender gives it: the daemon does not draft from this document.
            path=sent.name if sent else shown_path(document, roots),
            text=document.text.removeprefix(_BOM),
            offset=len((before + here).removeprefix(_BOM)),
            generation=generation,
        )
        result = await self._result(request, start=not unasked)
        if unasked:
            self._answered[document] = document.version
        if not result.text:
            return _NOTHING
        at = types.Position(line, to_character(here, index, server.documents.encoding))
        item = types.InlineCompletionItem(result.text, range=types.Range(at, at))
        return types.InlineCompletionList([item])

    async def _result(self, request: CompleteRequest, *, start: bool) -> CompleteResult:
        try:
            result = await result_of(
                self._server, lambda client: client.complete(request), CompleteResult, start=start
            )
        except ModelProblem as fault:
            self._tell(one_line(fault))
            raise
        self._tell("")
        return result

    async def _loaded(self) -> ModelStatus | None:
        """The model in memory, if there is one that can complete."""
        try:
            async with await Client.connect(start=False) as client:
                model = (await client.status()).model
        except DaemonUnavailable:
            return None
        if model and (problem := _inability(model)):
            self._tell(problem)
            return None
        return model

    def _tell(self, problem: str) -> None:
        if problem and problem != self._problem:
            self._server.note(f"no completions: {problem}")
        self._problem = problem


def _inability(model: ModelStatus) -> str:
    return "" if model.completes else f"{model.name} has no fill-in-the-middle tokens"


def _overtaken() -> Cancelled:
    return Cancelled("the document was changed meanwhile")
