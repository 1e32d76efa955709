"""The directories that people work in: their open documents, their recent edits, their indexes.

Open documents and edits are kept whether a model is loaded or not; indexes are in a model's tokens
and go with it. Documents are tokenised in a thread of its own, a moment after their editor sent
them: neither editors nor the model wait for it.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from copydraft.errors import BadRequest, CopydraftError
from copydraft.index.corpora import Corpora, Workspace
from copydraft.index.printings import printing_of
from copydraft.index.search import Search
from copydraft.protocol import DocumentUpdates, EditFormat, WorkspaceStatus
from copydraft.workspace.edits import RecentEdit, RecentEdits
from copydraft.workspace.open_documents import OpenDocuments
from copydraft.workspace.projects import project_at
from copydraft.workspace.scanner import Scanner

_log = logging.getLogger(__name__)

_MOST_WORKSPACES = 8
"""Indexes in memory; those of workspaces that were not asked about for longest are let go."""

_MOST_EDITS = 16


LoadCorpora = Callable[[Path, bool, Callable[[Path], RecentEdits]], Corpora]
"""Makes the indexes for the model at a path, which writes tool calls as JSON or not, given edits
by root."""


class Workspaces:
    """All of them. Safe in any thread."""

    def __init__(self, load_corpora: LoadCorpora) -> None:
        self._load = load_corpora
        self._escaped = True
        self._documents = OpenDocuments(self._changed)
        self._edits: OrderedDict[Path, RecentEdits] = OrderedDict()
        self._corpora: Corpora | None = None
        self._used: OrderedDict[Path, None] = OrderedDict()
        self._pending: set[tuple[str, str]] = set()
        self._left_out: dict[tuple[str, str], bool] = {}
        """Of open documents: whether they are ignored files. Set once, in the reader's thread."""
        self._lock = threading.Lock()
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="open-documents")

    def take(self, updates: DocumentUpdates) -> list[str]:
        """Take in what an editor did; the documents of which it is to send all of the text.

        Raises:
            BadRequest: the workspace is no absolute path.
        """
        if not updates.workspace.startswith("/") or "\0" in updates.workspace:
            raise BadRequest(f"no absolute path: {updates.workspace!r}", "name the root so")
        self._documents.close_left()
        return self._documents.take(updates)

    def load(self, model: Path, *, escaped: bool = True) -> None:
        """Begin to index for a model; what is open is taken in, elsewhere and soon.

        `escaped`: it writes the arguments of tool calls as JSON, not as they are.
        """
        with self._lock:
            self._escaped = escaped
            self._corpora = self._load(model, escaped, self._edits_of)
        for workspace in self._documents.workspaces():
            for name in self._documents.of(workspace):
                self._changed(workspace, name)

    def unload(self) -> None:
        """Let go of all indexes: their memory goes back."""
        with self._lock:
            corpora, self._corpora = self._corpora, None
            self._used.clear()
        if corpora is not None:
            corpora.close()

    def close(self) -> None:
        self.unload()
        self._reader.shutdown(cancel_futures=True)

    def search(self, root: str, edit_format: EditFormat = "plain") -> Search | None:
        """What there is to draft answers of a format from in the workspace at `root`, as of now.

        None: nothing is indexed so, or `root` is no directory of one project.
        """
        self._documents.close_left()
        workspace, is_new = self._opened(root)
        if workspace is None:
            return None
        if is_new:
            for name in self._documents.of(root):
                self._changed(root, name)
        return workspace.search(printing_of(edit_format, escaped=self._escaped).name)

    def recent_edits(self, root: str) -> Sequence[RecentEdit]:
        """What was changed in the workspace lately, on the disk or in editors, newest first."""
        directory = project_at(root)
        if directory is None:
            return ()
        edits = self._edits_of(directory)
        for name, document in self._documents.of(root).items():
            # Nor before it is known whether the document is ignored: that is soon.
            if document.text is not None and self._left_out.get((root, name)) is False:
                edits.seen(name, document.text, document.changed)
        return edits.latest(_MOST_EDITS)

    def status(self) -> list[WorkspaceStatus]:
        """Of the workspaces that are known, those asked about last first."""
        self._documents.close_left()
        with self._lock:
            corpora, used = self._corpora, [str(root) for root in reversed(self._used)]
        roots = dict.fromkeys([*used, *self._documents.workspaces()])
        return [self._status(corpora, root) for root in roots]

    def settle(self, timeout: float) -> bool:
        """Wait until all is taken in and indexed; False if it takes longer, in seconds."""
        self._reader.submit(lambda: None).result(timeout)
        corpora = self._corpora
        return corpora is None or corpora.settle(timeout)

    def _status(self, corpora: Corpora | None, root: str) -> WorkspaceStatus:
        directory = project_at(root)
        workspace = corpora.opened(directory) if corpora and directory else None
        own, of_libraries = workspace.sizes() if workspace else (0, 0)
        return WorkspaceStatus(
            root=root,
            open_documents=len(self._documents.of(root)),
            workspace_tokens=own,
            global_tokens=of_libraries,
            indexing=workspace is not None and workspace.indexing,
        )

    def _opened(self, root: str) -> tuple[Workspace | None, bool]:
        """The workspace at `root`, and whether it is opened by this: it knows no documents then."""
        directory = project_at(root)
        with self._lock:
            corpora = self._corpora
            if corpora is None or directory is None:
                return None, False
            is_new = directory not in self._used
            self._used[directory] = None
            self._used.move_to_end(directory)
            left = next(iter(self._used)) if len(self._used) > _MOST_WORKSPACES else None
            if left is not None:
                del self._used[left]
        if left is not None:
            corpora.close_workspace(left)
        return corpora.workspace(directory), is_new

    def _edits_of(self, root: Path) -> RecentEdits:
        with self._lock:
            edits = self._edits.setdefault(root, RecentEdits())
            self._edits.move_to_end(root)
            if len(self._edits) > _MOST_WORKSPACES:
                self._edits.popitem(last=False)
            return edits

    def _changed(self, workspace: str, name: str) -> None:
        """A document is open, closed or another: it is taken in soon."""
        with self._lock:
            if (workspace, name) in self._pending:
                return
            self._pending.add((workspace, name))
        try:
            self._reader.submit(self._take_in, workspace, name)
        except RuntimeError:
            _log.debug("a document came while the daemon stopped")

    def _take_in(self, root: str, name: str) -> None:
        with self._lock:
            self._pending.discard((root, name))
        if name not in self._documents.of(root):
            self._left_out.pop((root, name), None)
        directory = project_at(root)
        if directory is None:
            return
        try:
            workspace, is_new = self._opened(root)
        except RuntimeError:
            _log.debug("a document came while the indexes were let go")
            return
        except Exception:
            _log.exception("a workspace was not opened: this is a bug")
            return
        # A new workspace gets all of its documents at once: were they queued, workspaces that push
        # each other out would go on doing so for ever.
        names = {name, *self._documents.of(root)} if is_new else {name}
        for each in names:
            try:
                self._take_one_in(root, directory, workspace, each)
            except CopydraftError as error:
                _log.warning("%s; %s", error.message, error.hint)
            except Exception:
                _log.exception("an open document was not taken in: this is a bug")

    def _take_one_in(
        self, root: str, directory: Path, workspace: Workspace | None, name: str
    ) -> None:
        document = self._documents.of(root).get(name)
        if document is None:
            if workspace is not None:
                workspace.close_buffer(name)
            return
        if (root, name) not in self._left_out:
            self._left_out[root, name] = _is_left_out(directory, name)
        if self._left_out[root, name]:
            return
        if document.text is not None:
            self._edits_of(directory).first_seen(name, document.text)
        if workspace is not None:
            workspace.open_buffer(name, document.version, document.text or "")


def _is_left_out(directory: Path, name: str) -> bool:
    """Whether an open document is a file below a project that would not be indexed there."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        return False
    return Scanner(directory).leaves_out("/".join(parts))
