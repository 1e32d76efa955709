"""The index's database file: opened, kept to one writer, and begun anew when it is damaged.

Every job opens the file anew, so any thread or process may run one. It holds source text, so only
the user may read it. What goes wrong with it is a `DiskProblem`, which costs drafts and nothing
else.
"""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from sqlite_utils import Database

from copydraft import paths
from copydraft.errors import DiskProblem
from copydraft.index.migrations import INDEX, from_the_future

_log = logging.getLogger(__name__)

_BUSY_S = 5.0
_PAGE_BYTES = 8192

T = TypeVar("T")


class Damaged(Exception):
    """What the database holds cannot be right; raised by jobs."""


class IndexCache:
    """The database at `path`, made when first needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, job: Callable[[Database], T]) -> T:
        """The job's value. A damaged file is removed with a warning, and the job run on a new one.

        Raises:
            DiskProblem: the file cannot be read or written, is locked for long, or is a newer
                copydraft's.
        """
        try:
            try:
                return self._run(job)
            except (sqlite3.DatabaseError, Damaged) as error:
                if not _is_damage(error):
                    raise
                _log.warning("%s is damaged (%s): the index is built anew", self.path, error)
                self.remove()
                return self._run(job)
        except (OSError, sqlite3.Error, Damaged) as error:
            raise DiskProblem(
                f"no index: {self.path}: {error}", "free the disk or mend its permissions"
            ) from error

    @contextmanager
    def writing(self, *, wait: bool = True) -> Iterator[None]:
        """Be the only writer, of all processes, in this context.

        Raises:
            DiskProblem: the lock cannot be made; without `wait`, also when someone else writes.
        """
        paths.make_dir(self.path.parent)
        lock = self.path.with_name(self.path.name + ".lock")
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DiskProblem(
                f"no index: {lock}: {error.strerror}", "free the disk or mend its permissions"
            ) from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError as error:
                raise DiskProblem(
                    "the index is being written by another process", "wait until it is done"
                ) from error
            yield
        finally:
            os.close(handle)

    def remove(self) -> None:
        """Delete the file; the next job begins a new one."""
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def size(self) -> int:
        """Bytes on the disk."""
        total = 0
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                total += self.path.with_name(self.path.name + suffix).stat().st_size
        return total

    def stamp(self) -> tuple[tuple[int, int], ...]:
        """Differs after every write, by whatever process."""
        found = []
        for suffix in ("", "-wal"):
            with suppress(OSError):
                status = self.path.with_name(self.path.name + suffix).stat()
                found.append((status.st_mtime_ns, status.st_size))
        return tuple(found)

    def _run(self, job: Callable[[Database], T]) -> T:
        paths.make_dir(self.path.parent)
        # SQLite gives its other files the rights of this one.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with closing(Database(sqlite3.connect(self.path, timeout=_BUSY_S))) as db:
            self._prepare(db)
            return job(db)

    def _prepare(self, db: Database) -> None:
        db.execute("PRAGMA synchronous = NORMAL")
        if not self.path.stat().st_size:
            # These count for a new file only.
            db.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
            db.enable_wal()
        if INDEX.pending(db):
            INDEX.apply(db)
        elif unknown := from_the_future(db, INDEX):
            raise DiskProblem(
                f"no index: {self.path} was written by a newer copydraft ({unknown[-1]})",
                "update copydraft, or remove it: copydraft index clear",
            )


def _is_damage(error: Exception) -> bool:
    if isinstance(error, Damaged):
        return True
    name: str = getattr(error, "sqlite_errorname", "")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))
