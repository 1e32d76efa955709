"""The corpora that answers are drafted from beside the session: workspaces and the code they use.

    corpora = Corpora(paths.index_database(), partial(bulk_tokenizer, model_path), [PLAIN])
    workspace = corpora.workspace(Path("/home/me/project"))  # at once; indexing goes on elsewhere
    workspace.open_buffer("src/a.py", 1, text)  # and again whenever it was changed
    search = workspace.search()  # for one request: a moment that never changes
    for match in search.longest_matches(tail, 8):
        search.following(match, 32)
    corpora.close()  # with the model: all of its memory goes back

A workspace's searches see its own files, its open buffers and the libraries it uses; never those
of another workspace. Nothing here waits for indexing, which a process of its own does; a search
sees what was indexed when it was made. Faults of the disk cost drafts, never an answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from copydraft.errors import DiskProblem, FileProblem
from copydraft.index import additions
from copydraft.index.cache import IndexCache
from copydraft.index.overlay import Overlay
from copydraft.index.search import Search, Shown
from copydraft.index.shards import CorpusKey
from copydraft.index.snapshot import Snapshots
from copydraft.index.tokenizing import PLAIN, BulkTokenizer, Printing
from copydraft.index.updates import UpdateQueue
from copydraft.index.worker import Job, LoadTokenizer
from copydraft.workspace.documents import read_document
from copydraft.workspace.edits import RecentEdits
from copydraft.workspace.libraries import Library, installed_at, libraries_of
from copydraft.workspace.scanner import Scanner
from copydraft.workspace.watcher import Watcher

if TYPE_CHECKING:
    from copydraft.index.segment import Segment

_log = logging.getLogger(__name__)

_MOST_FILES_OF_AN_EDIT = 50
"""More files that change at once are a checkout: what they were before is no longer of use."""
_REMEMBERED_FILES = 256
"""The files changed last are read when a workspace is opened, so that edits of them are seen."""
_RULES = ".gitignore"
_LOOK_AGAIN_S = 30.0
"""Libraries are installed now and then; nothing watches them, there are too many files in them."""


class Corpora:
    """All that is indexed for one tokenizer. Safe in any thread."""

    def __init__(
        self,
        database: Path,
        load: LoadTokenizer,
        printings: Sequence[Printing] = (PLAIN,),
        *,
        additions_file: Path | None = None,
        libraries: bool = True,
        watch: bool = True,
        edits: Callable[[Path], RecentEdits] = lambda _: RecentEdits(),
    ) -> None:
        """`load` and the printings must be picklable; the first printing is the usual one.

        Without `libraries` there is no global corpus; `additions_file` lists more directories.
        `edits` gives what is known of a workspace's recent edits; those on the disk are added.
        """
        self.cache = IndexCache(database)
        self.printings = {printing.name: printing for printing in printings}
        self.usual = printings[0].name
        self._load = load
        self._additions_file = additions_file
        self._libraries = libraries
        self._watch = watch
        self._edits = edits
        self._workspaces: dict[Path, Workspace] = {}
        self._lock = threading.Lock()
        self.snapshots = {p.name: Snapshots(self.cache, p.field) for p in printings}
        self._seen_stamp: object = None
        self._seen_additions: list[Library] = []
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="index-reader")
        self.queue = UpdateQueue(lambda _: self._refresh())

    @cached_property
    def tokenizer(self) -> BulkTokenizer:
        """Loaded when it is first needed, which takes half a second."""
        return self._load()

    def workspace(self, root: Path) -> Workspace:
        """The workspace at `root`, opened if it is not; what is new in it is indexed then."""
        root = root.resolve()
        with self._lock:
            found = self._workspaces.get(root)
            if found is None:
                found = self._workspaces[root] = Workspace(self, root, self._edits(root))
                self._reader.submit(self._open, found).add_done_callback(_log_bug)
            return found

    def opened(self, root: Path) -> Workspace | None:
        """The workspace at `root` if it is open."""
        with self._lock:
            return self._workspaces.get(root.resolve())

    def close_workspace(self, root: Path) -> None:
        """Let go of a workspace soon; its memory goes back. One that is not open is no fault."""
        with self._lock:
            found = self._workspaces.pop(root.resolve(), None)
        if found is not None:
            found.end()
            with suppress(RuntimeError):  # closed meanwhile
                self._reader.submit(found.stop).add_done_callback(_log_bug)
            self.refresh()

    def close(self) -> None:
        """Let go of everything; indexing ends where it is."""
        with self._lock:
            opened, self._workspaces = self._workspaces, {}
        for workspace in opened.values():
            workspace.end()
        for workspace in opened.values():
            workspace.stop()
        self.queue.stop()
        self._reader.shutdown(cancel_futures=True)

    def settle(self, timeout: float) -> bool:
        """Wait until all is indexed and can be searched; False if it takes longer, in seconds."""
        end = time.monotonic() + timeout
        for _ in range(2):  # what is read from the disk may ask for more to be indexed
            with suppress(RuntimeError):
                self._reader.submit(lambda: None).result(max(0.0, end - time.monotonic()))
            if not self.queue.settle(max(0.0, end - time.monotonic())):
                return False
        return True

    def refresh(self) -> None:
        """Read soon what other threads and processes wrote."""
        with suppress(RuntimeError):  # closed meanwhile
            self._reader.submit(self._refresh).add_done_callback(_log_bug)

    def refresh_if_written(self) -> None:
        """`refresh` if the database was written since the last one. Costs a few microseconds."""
        if self.cache.stamp() != self._seen_stamp:
            self._seen_stamp = self.cache.stamp()
            self.refresh()

    def look_again(self, workspace: Workspace) -> None:
        """Take in soon what was installed for a workspace since it was opened."""
        with suppress(RuntimeError):  # closed meanwhile
            self._reader.submit(self._look, workspace).add_done_callback(_log_bug)

    def job(self, key: CorpusKey, library: Library | None, only: Iterable[Path] | None) -> Job:
        printing = self.printings[key.format]
        paths = None if only is None else list(only)
        if library is None:
            return Job(self.cache.path, key, printing, self._load, only=paths)
        return Job(self.cache.path, key, printing, self._load, library.suffixes, True, paths)

    # --- in the reader's thread, or in the queue's ---

    def _open(self, workspace: Workspace) -> None:
        self._know(workspace)
        self._refresh()
        workspace.start(watch=self._watch)

    def _look(self, workspace: Workspace) -> None:
        before = workspace.keys(self.usual)
        changed = self._know(workspace)
        if changed or workspace.keys(self.usual) != before:
            self._refresh()
            workspace.update(only=None, keys=changed)

    def _know(self, workspace: Workspace) -> set[CorpusKey]:
        """Find the libraries of a workspace; gives those that are new, or changed."""
        libraries = libraries_of(workspace.root) if self._libraries else []
        return workspace.know(self.tokenizer.fingerprint, [*libraries, *self._added()])

    def _added(self) -> list[Library]:
        """Directories that the user added for all workspaces."""
        if not self._libraries or self._additions_file is None:
            return []
        try:
            return additions.listed(self._additions_file)
        except DiskProblem as error:
            _log.warning("%s; %s", error.message, error.hint)
            return []

    def _refresh(self) -> None:
        self._seen_stamp = self.cache.stamp()
        with self._lock:
            opened = list(self._workspaces.values())
        added = self._added()
        if added != self._seen_additions:  # by the command line, meanwhile
            self._seen_additions = added
            for workspace in opened:
                workspace.update(only=None, keys=self._know(workspace))
        for name, snapshots in self.snapshots.items():
            lost = set(snapshots.refresh({k for w in opened for k in w.keys(name)}))
            for workspace in opened:
                workspace.update(only=None, keys=lost)
        for workspace in opened:
            workspace.remember()


class Workspace:
    """One directory that editors work in. Safe in any thread."""

    def __init__(self, corpora: Corpora, root: Path, edits: RecentEdits) -> None:
        self.root = root
        self.edits = edits
        self._corpora = corpora
        self._scanner = Scanner(root)
        self._overlay = Overlay(lambda: corpora.tokenizer, list(corpora.printings.values()))
        self._keys: dict[str, CorpusKey] = {}
        self._libraries: dict[str, dict[CorpusKey, Library]] = {}
        self._stamps: dict[str, int] = {}
        self._looked = time.monotonic()
        self._remembered = False
        self._watcher = Watcher(root, self._changed)

    # --- for the drafter ---

    def search(self, format_name: str = "") -> Search:
        """What there is to draft from now, in a printing; "" is the usual one, others are empty.

        Of equal matches, open buffers come first, then the workspace's files, then libraries.
        Cost: open buffers that changed since the last search are sorted (1 ms for 5,000 tokens).
        """
        name = format_name or self._corpora.usual
        if name not in self._corpora.printings:
            return Search([])
        self._corpora.refresh_if_written()
        if time.monotonic() - self._looked >= _LOOK_AGAIN_S:
            self._looked = time.monotonic()
            self._corpora.look_again(self)
        # The names first: a document that is closed in between is found twice rather than never.
        hidden = self._overlay.names
        buffers = self._overlay.segments(self._corpora.printings[name])
        shown = [Shown(segment, ()) for segment in buffers]
        if name in self._keys:
            shown += [Shown(s, hidden) for s in self._segments(name, self._keys[name])]
            for key in self._libraries[name]:
                shown += [Shown(segment, ()) for segment in self._segments(name, key)]
        return Search(shown)

    # --- from the editor; names are paths below the root, or what an unnamed document is called ---

    def open_buffer(self, name: str, version: int, text: str) -> None:
        """Take in a document that an editor has open, or its text as it is now."""
        self._overlay.open(name, version, text)

    def close_buffer(self, name: str) -> None:
        """The file counts again."""
        self._overlay.close(name)

    # --- for Corpora ---

    def sizes(self) -> tuple[int, int]:
        """Tokens in reach, in the usual format: of the workspace's files, and of its libraries."""
        name = self._corpora.usual
        if name not in self._keys:
            return 0, 0
        own = sum(segment.live for segment in self._segments(name, self._keys[name]))
        of_libraries = [self._segments(name, key) for key in self._libraries[name]]
        return own, sum(segment.live for segments in of_libraries for segment in segments)

    @property
    def indexing(self) -> bool:
        """Whether some of it waits to be indexed, or is being."""
        printings = self._corpora.printings
        return any(self._corpora.queue.busy(key) for name in printings for key in self.keys(name))

    def know(self, tokenizer: str, libraries: Iterable[Library]) -> set[CorpusKey]:
        """Set what belongs to the workspace; gives the libraries that are new, or changed."""
        by_root = {str(library.root): library for library in libraries}
        stamps = {root: installed_at(library) for root, library in by_root.items()}
        before, self._stamps = self._stamps, stamps
        for name in self._corpora.printings:
            self._libraries[name] = {
                CorpusKey("global", root, name, tokenizer): library
                for root, library in by_root.items()
            }
            self._keys[name] = CorpusKey("workspace", str(self.root), name, tokenizer)
        known = [key for keys in self._libraries.values() for key in keys]
        return {key for key in known if stamps[key.root] != before.get(key.root)}

    def keys(self, name: str) -> list[CorpusKey]:
        return [self._keys[name], *self._libraries[name]] if name in self._keys else []

    def start(self, *, watch: bool) -> None:
        """Bring everything up to date, and keep it so with `watch`."""
        if watch:
            self._watcher.start()
        self.update(only=None)

    def end(self) -> None:
        self._watcher.end()

    def stop(self) -> None:
        self._watcher.stop()

    def update(self, only: Iterable[Path] | None, keys: set[CorpusKey] | None = None) -> None:
        """Index paths of the workspace, or all of it and its libraries; of these only `keys`."""
        for key in self._keys.values():
            if keys is None or key in keys:
                self._corpora.queue.put(self._corpora.job(key, None, only))
        if only is None:
            for libraries in self._libraries.values():
                for key, library in libraries.items():
                    if keys is None or key in keys:
                        self._corpora.queue.put(self._corpora.job(key, library, None))

    def remember(self) -> None:
        """Read the files changed last, once: edits are seen by comparing with the text before."""
        key = self._keys.get(self._corpora.usual)
        segments = self._segments(self._corpora.usual, key) if key else []
        if self._remembered or not segments:
            return
        self._remembered = True
        sources = [placed.source for segment in segments for placed in segment.documents]
        sources.sort(key=lambda source: -source.version)
        latest = [self.root / source.path for source in sources[:_REMEMBERED_FILES]]
        with suppress(FileProblem):
            # Since they were indexed, they may have become links, or be ignored.
            for file in self._scanner.look(latest):
                with suppress(FileProblem):
                    self.edits.first_seen(file.path, read_document(self.root / file.path).text)

    def _segments(self, name: str, key: CorpusKey) -> list[Segment]:
        return self._corpora.snapshots[name].segments(key)

    def _changed(self, paths: set[Path]) -> None:
        """Files changed on the disk; called by the watcher."""
        paths = {path for path in paths if path.is_relative_to(self.root)}
        if self.root in paths or any(path.name == _RULES for path in paths):
            for key in self._keys.values():
                self._corpora.queue.put(self._corpora.job(key, None, None))
        else:
            self.update(only=paths)
        self._note_edits({path for path in paths if not path.is_dir()})

    def _note_edits(self, paths: set[Path]) -> None:
        if len(paths) > _MOST_FILES_OF_AN_EDIT:
            gone = paths
        else:
            found = {self.root / file.path for file in self._scanner.look(paths)}
            gone = paths - found
            for path in found:
                name = path.relative_to(self.root).as_posix()
                with suppress(FileProblem):
                    # What an editor has open is seen there, before it is saved.
                    if name not in self._overlay.names:
                        self.edits.seen(name, read_document(path).text, time.time())
        for path in gone:
            self.edits.forget(path.relative_to(self.root).as_posix())


def _log_bug(future: object) -> None:
    error = None if future.cancelled() else future.exception()  # type: ignore[attr-defined]
    if error:
        _log.error("the index failed", exc_info=error)
