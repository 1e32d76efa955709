"""What of the index's database is in memory: corpora as segments, shared by those who search."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, NamedTuple

from copydraft.errors import DiskProblem
from copydraft.index import shards
from copydraft.index.cache import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlite_utils import Database

    from copydraft.index.cache import IndexCache
    from copydraft.index.segment import Segment
    from copydraft.index.shards import CorpusKey, Stored

_log = logging.getLogger(__name__)


class _Loaded(NamedTuple):
    stored: Stored
    segment: Segment


class Snapshots:
    """The segments of corpora, as of the last `refresh`. Readers never wait for one."""

    def __init__(self, cache: IndexCache, field: str) -> None:
        self._cache = cache
        self._field = field
        self._corpora: dict[CorpusKey, tuple[_Loaded, ...]] = {}
        self._refreshing = threading.Lock()
        self._told = ""

    def segments(self, key: CorpusKey) -> list[Segment]:
        """A corpus as it was at the last refresh; large segments first."""
        return [loaded.segment for loaded in self._corpora.get(key, ())]

    def refresh(self, keys: Iterable[CorpusKey]) -> list[CorpusKey]:
        """Read what changed of these corpora, and let go of all others. Takes a moment.

        Gives those that the database had and lost: they are to be indexed anew. Where it cannot be
        read, what is in memory stays, with a warning in the log.
        """
        with self._refreshing:
            wanted = list(keys)
            try:
                found = self._cache.run(lambda db: self._read(db, wanted))
            except DiskProblem as error:
                if error.message != self._told:
                    self._told = error.message
                    _log.warning("%s; %s", error.message, error.hint)
                return []
            lost = [key for key in self._corpora if key in found and found[key] is None]
            self._corpora = {key: loaded for key, loaded in found.items() if loaded is not None}
            return lost

    def _read(
        self, db: Database, keys: Iterable[CorpusKey]
    ) -> dict[CorpusKey, tuple[_Loaded, ...] | None]:
        # All reads see the same state, whatever another process writes meanwhile.
        db.execute("BEGIN")
        try:
            return {key: self._corpus(db, key) for key in keys}
        finally:
            db.execute("ROLLBACK")

    def _corpus(self, db: Database, key: CorpusKey) -> tuple[_Loaded, ...] | None:
        corpus = shards.corpus_id(db, key)
        if corpus is None:
            return None
        here = {
            (loaded.stored.id, loaded.stored.checksum): loaded
            for loaded in self._corpora.get(key, ())
        }
        found = []
        for stored in shards.stored(db, corpus):
            loaded = here.get((stored.id, stored.checksum))
            if loaded is None or loaded.stored != stored:
                loaded = _Loaded(stored, self._segment(db, key, stored, loaded))
            found.append(loaded)
        return tuple(sorted(found, key=lambda loaded: -loaded.stored.size))

    def _segment(
        self, db: Database, key: CorpusKey, stored: Stored, loaded: _Loaded | None
    ) -> Segment:
        prefix = "" if key.kind == "workspace" else f"{key.root}/"
        if loaded is None:
            return shards.load(db, stored, key.kind, self._field, prefix)
        documents = shards.documents_of(stored, key.kind, self._field, prefix)
        try:
            return loaded.segment.with_documents(documents)
        except ValueError as error:
            raise Damaged(str(error)) from error
