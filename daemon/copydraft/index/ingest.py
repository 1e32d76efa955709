"""Brings a corpus up to date with the files of its root: what changed is read, printed, tokenised.

Files come in batches, each one transaction: whatever ends the process, the database has whole
batches, and the next update goes on from there. A file is known again by its size and times, and
by its content where these differ; clocks may jump.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from copydraft.errors import FileProblem
from copydraft.index import compact, shards
from copydraft.index.segment import Source, build
from copydraft.index.shards import Known
from copydraft.secret_names import has_private_key
from copydraft.workspace.documents import read_document

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from sqlite_utils import Database

    from copydraft.index.cache import IndexCache
    from copydraft.index.shards import CorpusKey
    from copydraft.index.tokenizing import BulkTokenizer, Printing
    from copydraft.workspace.scanner import FoundFile, Scanner

_BATCH_BYTES = 6_000_000
"""Text of about two million tokens: some seconds of work."""
_BATCH_FILES = 5000
_TOLD_CHARACTERS = 500_000
"""Tokenised at once: about half a second of work, after which progress is told."""

_CLOCK_STEP_NS = 50_000_000
"""File systems note times in steps of some milliseconds."""


class Progress(NamedTuple):
    """How far an update is."""

    files: int
    """Done with so far."""
    tokens: int
    """Tokenised so far, of files that are new or changed."""


class Changes(NamedTuple):
    """What an update did."""

    added: int
    """Files indexed anew, for the first time or since they changed."""
    removed: int
    """Files forgotten: gone, or no longer to be indexed."""
    tokens: int
    """Indexed anew."""
    left_out: int
    """Files beyond the limit of tokens."""


class _File(NamedTuple):
    path: str
    known: Known
    text: str


Report = Callable[[Progress], None]
T = TypeVar("T")


def update(
    cache: IndexCache,
    key: CorpusKey,
    scanner: Scanner,
    tokenizer: BulkTokenizer,
    printing: Printing,
    *,
    only: Iterable[Path] | None = None,
    most_tokens: int = 1 << 24,
    report: Report = lambda _: None,
) -> Changes:
    """Index what changed below the root; with `only`, look at these absolute paths alone.

    Waits for other writers. A file that changes meanwhile is indexed as it was read; the next
    update sees that its times differ.

    Raises:
        DiskProblem: the database cannot be read or written; what was done till then is kept.
        FileProblem: the root cannot be scanned (the disk does not answer, too few handles).
    """
    paths = None if only is None else list(only)
    with cache.writing():
        return cache.run(
            lambda db: _Update(db, key, scanner, tokenizer, printing, most_tokens, report).run(
                paths
            )
        )


class _Update:
    def __init__(
        self,
        db: Database,
        key: CorpusKey,
        scanner: Scanner,
        tokenizer: BulkTokenizer,
        printing: Printing,
        most_tokens: int,
        report: Report,
    ) -> None:
        self._db = db
        self._scanner = scanner
        self._tokenizer = tokenizer
        self._printing = printing
        self._report = report
        now = time.time()
        shards.forget_unused(db, now)
        self._corpus = shards.make_corpus(db, key, now)
        self._known = shards.known(db, self._corpus)
        self._room = most_tokens - sum(s.live for s in shards.stored(db, self._corpus))
        self._seen: set[str] = set()
        self._done = self._tokens = self._added = self._left_out = 0

    def run(self, only: list[Path] | None) -> Changes:
        found = self._scanner.scan() if only is None else self._scanner.look(only)
        for batch in _grouped(self._new(found), lambda file: file.size, _BATCH_BYTES):
            self._keep(batch)
        gone = self._concerned(only) - self._seen
        if gone:
            shards.replace(self._db, self._corpus, {}, None, gone)
        compact.compact(self._db, self._corpus)
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._tell()
        return Changes(self._added, len(gone), self._tokens, self._left_out)

    def _new(self, found: Iterable[FoundFile]) -> Iterator[FoundFile]:
        for file in found:
            self._seen.add(file.path)
            known = self._known.get(file.path)
            if known is None or known[:3] != (file.size, file.modified, file.changed):
                yield file
            else:
                self._done += 1

    def _concerned(self, only: list[Path] | None) -> set[str]:
        """Known files that would have been seen, were they still there."""
        if only is None:
            return set(self._known)
        root = self._scanner.root
        names = {p.relative_to(root).as_posix() for p in only if p.is_relative_to(root)}
        if "." in names:
            return set(self._known)
        below = tuple(f"{name}/" for name in names)
        return {path for path in self._known if path in names or path.startswith(below)}

    def _keep(self, batch: list[FoundFile]) -> None:
        """Read a batch, and write what is new in it."""
        no_text: dict[str, Known] = {}
        same: dict[str, Known] = {}
        changed: list[_File] = []
        for file in batch:
            read = self._content(file)
            before = self._known.get(file.path)
            if read is None:
                continue
            if before is not None and before.digest == read.known.digest:
                same[file.path] = read.known
            elif not read.known.digest:
                no_text[file.path] = read.known
            elif self._room > 0 or before is not None:
                changed.append(read)
            else:
                self._left_out += 1
        self._done += len(batch) - len(changed)
        if same:
            shards.touch(self._db, self._corpus, same)
        if changed or no_text:
            self._write(changed, no_text)
        self._tell()

    def _write(self, changed: list[_File], no_text: dict[str, Known]) -> None:
        documents = [
            (Source("", file.path, "", file.known.modified), tokens)
            for file, tokens in zip(changed, self._tokenised(changed), strict=True)
        ]
        segment = build(documents) if documents else None
        files = {file.path: file.known for file in changed} | no_text
        shards.replace(self._db, self._corpus, files, segment)
        self._room -= sum(len(tokens) for _, tokens in documents)
        self._added += len(changed)

    def _tokenised(self, files: list[_File]) -> Iterator[NDArray[np.uint32]]:
        for some in _grouped(files, lambda file: len(file.text), _TOLD_CHARACTERS):
            texts = [self._printing.printed(file.text) for file in some]
            for tokens in self._tokenizer.encode_many(texts):
                self._tokens += len(tokens)
                yield tokens
            self._done += len(some)
            self._tell()

    def _content(self, file: FoundFile) -> _File | None:
        """The file's text, "" and no digest if it is none; None if it cannot be read now."""
        now = time.time_ns()
        # Written this very moment, it may be written again without a change of its times.
        changed = file.changed if abs(now - file.changed) > _CLOCK_STEP_NS else 0
        known = Known(file.size, file.modified, changed, "")
        try:
            document = read_document(self._scanner.root / file.path)
        except FileProblem as error:
            if isinstance(error.__cause__, OSError):
                return None  # gone, or no handle free: the next update will see
            return _File(file.path, known, "")
        # Replaced by a link since it was found, it may be anyone's.
        inside = document.path == self._scanner.root / file.path
        if not inside or has_private_key(document.text):
            return _File(file.path, known, "")
        text = document.text.replace("\r\n", "\n").replace("\r", "\n")
        return _File(file.path, known._replace(digest=document.fingerprint), text)

    def _tell(self) -> None:
        self._report(Progress(self._done, self._tokens))


def _grouped(items: Iterable[T], size: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Items in groups of about `most` in size, and of `_BATCH_FILES` at most."""
    group: list[T] = []
    total = 0
    for item in items:
        group.append(item)
        total += size(item)
        if total >= most or len(group) == _BATCH_FILES:
            yield group
            group, total = [], 0
    if group:
        yield group


def contents(db: Database, key: CorpusKey) -> dict[str, list[int]]:
    """All tokens of a corpus by path: to compare two indexes.

    Raises:
        Damaged: the database's bytes are not those that were written.
    """
    corpus = shards.corpus_id(db, key)
    if corpus is None:
        return {}
    found = {}
    for stored in shards.stored(db, corpus):
        segment = shards.load(db, stored, key.kind, "")
        for document in segment.documents:
            found[document.source.path] = segment.tokens(document).tolist()
    return found
