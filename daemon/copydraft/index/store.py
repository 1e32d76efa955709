"""The state database: what requests cost, what a pass costs here, how requests are drafted.

One thread owns the connection, so callers in any thread never wait for the disk when they write,
and a report sees all that was recorded before it. Faults of the disk never reach a request: what
cannot be written is dropped with a warning in the log.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from sqlite_utils import Database

from copydraft import paths
from copydraft.errors import DiskProblem
from copydraft.index import migrations, usage
from copydraft.protocol import RequestStats, StatsReport

_log = logging.getLogger(__name__)

_BUSY_S = 5.0

T = TypeVar("T")


class StateStore:
    """Statistics, cost tables and profiles in the SQLite file at `path`, made when first needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: Database | None = None
        self._told: set[str] = set()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="state-store")

    # --- statistics ---

    def record(self, stats: RequestStats) -> None:
        """Keep what a request cost; returns at once."""
        ended_at = time.time()
        self._later(lambda db: usage.insert(db, stats, ended_at))

    def report(self, days: int | None, kind: str = "") -> StatsReport:
        """Sums over the last `days` days, today included (None: over all), maybe of one kind.

        Raises:
            DiskProblem: the database cannot be read.
        """
        return self._thread.submit(self._do, lambda db: usage.report(db, days, kind)).result()

    def clear(self) -> None:
        """Erase the statistics; cost tables and profiles stay.

        Raises:
            DiskProblem: the database cannot be written.
        """
        self._thread.submit(self._do, usage.clear).result()

    # --- cost tables (serving's CostStore) ---

    def load_cost(self, key: str) -> dict[int, float] | None:
        def load(db: Database) -> dict[int, float]:
            rows = db.table("costs").rows_where("key = ?", [key], order_by="width")
            return {row["width"]: row["ms"] for row in rows}

        return self._thread.submit(self._try, load).result() or None

    def save_cost(self, key: str, ms_by_width: dict[int, float]) -> None:
        """Replace the table of `key`; returns at once."""
        rows = [{"key": key, "width": width, "ms": ms} for width, ms in ms_by_width.items()]

        def save(db: Database) -> None:
            with db.atomic():
                db.table("costs").delete_where("key = ?", [key])
                db.table("costs").insert_all(rows)

        self._later(save)

    # --- profiles (serving's ProfileStore) ---

    def load_profiles(self) -> dict[str, bytes]:
        def load(db: Database) -> dict[str, bytes]:
            return {row["kind"]: row["profile"].encode() for row in db.table("profiles").rows}

        return self._thread.submit(self._try, load).result() or {}

    def save_profile(self, kind: str, profile: bytes, *, was: bytes | None) -> None:
        """Replace the profile of a kind of request, if it is still `was`; returns at once."""

        def save(db: Database) -> None:
            with db.atomic():
                rows = list(db.table("profiles").rows_where("kind = ?", [kind]))
                if [row["profile"].encode() for row in rows] == ([] if was is None else [was]):
                    _put_profile(db, kind, profile)

        self._later(save)

    def replace_profiles(self, profiles: Mapping[str, bytes]) -> None:
        """Replace the profiles of these kinds of request, whatever was there.

        Raises:
            DiskProblem: the database cannot be written.
        """

        def replace(db: Database) -> None:
            with db.atomic():
                for kind, profile in profiles.items():
                    _put_profile(db, kind, profile)

        self._thread.submit(self._do, replace).result()

    def close(self) -> None:
        """Write what is waiting and close the file; the store is of no use afterwards."""
        self._thread.submit(self._disconnect)
        self._thread.shutdown()

    # --- in the store's thread ---

    def _later(self, job: Callable[[Database], None]) -> None:
        self._thread.submit(self._try, job).add_done_callback(_log_bug)

    def _try(self, job: Callable[[Database], T]) -> T | None:
        """The job's value, or None and a warning; each warning is given once."""
        try:
            return self._do(job)
        except DiskProblem as error:
            if error.message not in self._told:
                self._told.add(error.message)
                _log.warning("%s; %s", error.message, error.hint)
            return None

    def _do(self, job: Callable[[Database], T]) -> T:
        """Run `job` on the database; a damaged one is moved aside and begun anew."""
        try:
            try:
                return job(self._connect())
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._set_aside()
                return job(self._connect())
        except (OSError, sqlite3.Error) as error:
            # The next job tries again: the disk may have room by then.
            self._disconnect()
            raise DiskProblem(
                f"no statistics: {self._path}: {error}", "free the disk or mend its permissions"
            ) from error

    def _connect(self) -> Database:
        if self._db is None:
            paths.make_dir(self._path.parent)
            self._db = _open(self._path)
        return self._db

    def _disconnect(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _set_aside(self) -> None:
        self._disconnect()
        name = f"{self._path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
        for suffix in ("", "-wal", "-shm"):
            part = self._path.with_name(self._path.name + suffix)
            if part.exists():
                part.rename(self._path.with_name(name + suffix))
        _log.warning("%s is damaged: kept as %s, statistics begin anew", self._path, name)


def _put_profile(db: Database, kind: str, profile: bytes) -> None:
    db.table("profiles").upsert({"kind": kind, "profile": profile.decode()}, pk="kind")


def _open(path: Path) -> Database:
    """The database at `path` in its present shape.

    Raises:
        sqlite3.Error: it cannot be opened, or is damaged.
        DiskProblem: a newer copydraft has changed its shape.
    """
    db = Database(sqlite3.connect(path, timeout=_BUSY_S))
    try:
        [(verdict,)] = db.execute("PRAGMA quick_check(1)").fetchall()
        if verdict != "ok":
            raise _Damaged(verdict)
        if unknown := migrations.from_the_future(db):
            raise DiskProblem(
                f"no statistics: {path} was written by a newer copydraft ({unknown[-1]})",
                "update copydraft, or move the file away to begin anew",
            )
        db.enable_wal()
        migrations.STATE.apply(db)
    except BaseException:
        db.close()
        raise
    return db


class _Damaged(sqlite3.DatabaseError):
    """SQLite's own check found the file inconsistent."""


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    name: str = getattr(error, "sqlite_errorname", "")
    return isinstance(error, _Damaged) or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def _log_bug(future: Future[None]) -> None:
    if error := future.exception():
        _log.error("the state store failed", exc_info=error)
