"""A file on its way: how far it is, and the part that is here, checked as it grows."""

from __future__ import annotations

import errno
import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from copydraft.errors import DiskProblem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class Progress:
    """How far a pull is; `done` and `total` are bytes of the model's file."""

    stage: Literal["waiting", "checking", "downloading"]
    """"waiting" for another pull of the same model, "checking" what an earlier pull left."""
    source: str
    done: int
    total: int


class SourceFailed(Exception):
    """A source could not give the file; the text says why in a few words."""


def disk_full(directory: Path, missing: int) -> DiskProblem:
    """What to tell the user when `directory` has no room for `missing` more bytes."""
    return DiskProblem(
        f"the disk is full: {directory} needs room for {missing / 1e9:.2f} GB more",
        "free that much and pull again (it goes on where it stopped), "
        "or set XDG_DATA_HOME to a directory on another disk",
    )


def disk_problem(error: OSError, path: Path, missing: int) -> DiskProblem:
    """What to tell the user when `missing` more bytes were to be written to `path`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(path.parent, missing)
    return DiskProblem(f"cannot write {path}: {error.strerror}", "mend the directory's rights")


class PartialFile:
    """The first bytes of a file being fetched, on disk and in the running SHA-256.

    What an earlier pull wrote is kept: sources append from `length` on. Opening reads and hashes
    it, which takes a second or two per GB; `checked` gets the bytes done.
    """

    def __init__(self, path: Path, size: int, checked: Callable[[int], None]) -> None:
        self.path = path
        self.size = size
        self.length = 0
        self._hash = hashlib.sha256()
        try:
            # Unbuffered, so that bytes that the disk refused are not written again at the close.
            self._file = path.open("a+b", buffering=0)
            self._file.seek(0)
            while chunk := self._file.read(_READ_BYTES):
                self._hash.update(chunk)
                self.length += len(chunk)
                checked(self.length)
        except OSError as error:
            raise disk_problem(error, path, size) from error
        if self.length > size:
            self.restart()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        if self.length == 0:
            self.discard()

    @property
    def missing(self) -> int:
        return self.size - self.length

    def restart(self) -> None:
        """Forget all bytes."""
        self._file.truncate(0)
        self._hash = hashlib.sha256()
        self.length = 0

    def write(self, data: bytes) -> None:
        """Append.

        Raises:
            SourceFailed: that would be more than the file's size.
            DiskProblem: the disk is full; what was written is kept.
        """
        if len(data) > self.missing:
            self.discard()
            raise SourceFailed(f"it sends more than the {self.size} bytes of the file")
        rest = memoryview(data)
        while rest:
            try:
                written = self._file.write(rest)
            except OSError as error:
                raise disk_problem(error, self.path, self.missing) from error
            self._hash.update(rest[:written])
            self.length += written
            rest = rest[written:]

    def finish(self, target: Path, sha256: str) -> None:
        """Give the whole file its final name, in one step, once it is safe on the disk.

        Raises:
            SourceFailed: the sum is another; the bytes are deleted, since none can be trusted.
            DiskProblem: the disk failed to keep it.
        """
        if self.missing or self._hash.hexdigest() != sha256:
            self.discard()
            raise SourceFailed("what it sent is not that file (wrong SHA-256) and was deleted")
        try:
            os.fsync(self._file.fileno())
            self.path.replace(target)
        except OSError as error:
            raise disk_problem(error, self.path, self.missing) from error

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
