"""The server: what it knows of its editor, and pygls's protocol with documents of our own."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

from lsprotocol import types
from pygls.exceptions import FeatureRequestError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

from copydraft import __version__
from copydraft.errors import BadRequest
from copydraft.protocol import ModelStatus
from copydraft_lsp.conversations import Conversations
from copydraft_lsp.documents import DocumentStore
from copydraft_lsp.faults import answered, as_answer
from copydraft_lsp.jobs import Jobs
from copydraft_lsp.sender import Sender
from copydraft_lsp.settings import Settings

RESYNC = "copydraft/resync"
"""Asks a client that knows it to close a document and open it again: the texts may differ."""

_log = logging.getLogger(__name__)

_ALL_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[types.NotebookDocumentFilterWithNotebook(notebook="*")]
)


class CopydraftServer(LanguageServer):
    """One editor's server."""

    protocol: CopydraftProtocol

    def __init__(self) -> None:
        super().__init__(
            "copydraft",
            __version__,
            notebook_document_sync=_ALL_NOTEBOOKS,
            protocol_cls=CopydraftProtocol,
            converter_factory=default_converter,
            max_workers=2,
        )
        self.documents = DocumentStore()
        self.settings = Settings()
        self.jobs = Jobs()
        self.conversations = Conversations()
        self.sender = Sender(self)
        self.documents.on_open = self.sender.follow
        self.completion_state: Callable[[ModelStatus | None], str] = lambda _: "off"
        """Whether completions are offered with this model in memory, or why not."""
        self.cancel_by_progress: dict[types.ProgressToken, Callable[[], object]] = {}
        """What a cancel of a progress bar does."""
        self.editor = ""
        """The client's name, kept in the statistics."""
        self.asks = False
        """The client asks for an instruction itself where a command has none."""
        self.initial_options: Any = None
        """Settings as the client first sent them."""
        self.early_warnings: list[str] = []
        """What is wrong with the first settings; told once the client listens."""

    @property
    def was_shut_down(self) -> bool:
        """Whether the client asked for the end, rather than going away."""
        return self.protocol.was_shut_down

    def note(self, message: str) -> None:
        """A line in the editor's log of this server."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Info, message))

    def warn(self, message: str) -> None:
        """A message that the user sees."""
        self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))

    def resync(self, uri: str) -> None:
        """Say that the text of a document here may not be the editor's."""
        self.note(f"lost track of {uri}: save it, or close and open it")
        self.protocol.notify(RESYNC, {"uri": uri})

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Faults of requests are their answers; others go to the log."""
        if source is not FeatureRequestError:
            _log.error("%s", error)


class CopydraftProtocol(LanguageServerProtocol):
    """pygls's protocol, except that

    - documents go into our own store, which is faster and never raises, and by plain functions:
      of a generator, pygls keeps a future for every notification;
    - commands are tasks, so that `$/cancelRequest` cancels the work and not only its answer;
    - cancelling a progress bar cancels what it stands for.
    """

    _server: CopydraftServer

    @property
    def was_shut_down(self) -> bool:
        return self._shutdown

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self._server.documents.open(params.text_document)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        self._change(params.text_document, params.content_changes)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.documents.close(params.text_document.uri)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        for cell in params.cell_text_documents:
            self._server.documents.open(cell)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(
        self, params: types.DidChangeNotebookDocumentParams
    ) -> None:
        cells = params.change.cells
        structure = cells.structure if cells else None
        for closed in (structure.did_close if structure else None) or ():
            self._server.documents.close(closed.uri)
        for opened in (structure.did_open if structure else None) or ():
            self._server.documents.open(opened)
        for text in (cells.text_content if cells else None) or ():
            self._change(text.document, text.changes)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(
        self, params: types.DidCloseNotebookDocumentParams
    ) -> None:
        for cell in params.cell_text_documents:
            self._server.documents.close(cell.uri)

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> None:  # type: ignore[override]  # no need of a generator
        if self._server._server is None:
            sys.exit(0 if self._shutdown else 1)
        # Over TCP, an exit within the connection's task would be reported as its failure.
        self._server.shutdown()  # type: ignore[no-untyped-call]  # by pygls

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    @answered
    async def lsp_workspace__execute_command(  # type: ignore[override]  # a task, see above
        self, params: types.ExecuteCommandParams
    ) -> Any:
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise BadRequest(f"copydraft has no command {params.command!r}")
        return await handler(params.arguments, params.work_done_token)

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> None:
        if cancel := self._server.cancel_by_progress.get(params.token):
            cancel()

    def structure_message(self, data: dict[str, Any]) -> Any:
        """What cannot be read is answered: pygls leaves its sender, or who waits here, waiting.

        A change that cannot be read leaves its document out of step.
        """
        try:
            return super().structure_message(data)
        except Exception:
            self._unreadable(data)
            raise

    def _change(self, named: types.VersionedTextDocumentIdentifier, changes: Any) -> None:
        if not self._server.documents.change(named, changes):
            self._server.resync(named.uri)

    def _unreadable(self, data: dict[str, Any]) -> None:
        if "id" in data:
            fault = as_answer(BadRequest("this message has not the shape that LSP gives it"))
            if "method" in data:
                self._send_response(data["id"], error=fault.to_response_error())
            else:
                self._handle_response(data["id"], error=fault.to_response_error())
            return
        try:
            documents = [self._server.documents.get(uri) for uri in _changed(data)]
        except (KeyError, TypeError, AttributeError):
            return
        for document in documents:
            if document:
                document.in_step = False
                self._server.resync(document.uri)


def _changed(data: dict[str, Any]) -> list[str]:
    """The documents that a message says it changes."""
    method, params = data.get("method"), data.get("params", {})
    if method == types.TEXT_DOCUMENT_DID_CHANGE:
        return [params["textDocument"]["uri"]]
    if method == types.NOTEBOOK_DOCUMENT_DID_CHANGE:
        return [each["document"]["uri"] for each in params["change"]["cells"]["textContent"]]
    return []
