"""The daemon's place: one lock, one socket. Clients look at the same lock to see who holds it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from copydraft import __version__, paths
from copydraft.errors import DaemonUnavailable, DiskProblem

_BACKLOG = 128
_TAKE_S = 0.3
_RETRY_S = 0.02


class Holder(NamedTuple):
    """The process that is, or was last, the daemon."""

    pid: int
    version: str


@contextlib.contextmanager
def place() -> Iterator[socket.socket]:
    """Be the daemon: hold the lock, listen on the socket, remove the socket at the end.

    The lock file stays: removing it would let two daemons hold two files of one name. A socket
    that is found here belonged to a daemon that was killed, since only the lock's holder makes one.

    Raises:
        DaemonUnavailable: another process is the daemon; the message names it.
        DiskProblem: the lock or the socket cannot be made.
    """
    path = paths.socket_path()
    try:
        lock = os.open(paths.lock_path(), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DiskProblem(f"cannot make {paths.lock_path()}: {error.strerror}") from error
    try:
        _take(lock)
        path.unlink(missing_ok=True)
        with _listen(path) as listener:
            try:
                yield listener
            finally:
                path.unlink(missing_ok=True)
    finally:
        os.close(lock)


def holder() -> Holder | None:
    """Who wrote itself into the lock file last, whether or not it still lives."""
    try:
        return msgspec.json.decode(paths.lock_path().read_bytes(), type=Holder)
    except (OSError, msgspec.DecodeError):
        return None


def is_held(path: Path) -> bool:
    """Whether a process holds the lock at `path`; the system frees it when that process ends."""
    try:
        lock = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def try_lock(lock: int) -> bool:
    """Lock the open file `lock` for this process alone; False if another has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _take(lock: int) -> None:
    deadline = time.monotonic() + _TAKE_S
    while not try_lock(lock):
        # `is_held` may have it for an instant.
        if time.monotonic() > deadline:
            raise _taken()
        time.sleep(_RETRY_S)
    os.ftruncate(lock, 0)
    os.pwrite(lock, msgspec.json.encode(Holder(os.getpid(), __version__)), 0)


def _taken() -> DaemonUnavailable:
    who = holder()
    name = f"process {who.pid}, version {who.version}" if who else "another process"
    return DaemonUnavailable(
        f"a copydraft daemon is running already: {name}",
        "use it, or end it with `copydraft daemon stop`",
    )


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Its mode must be right from the start, and bind() applies the umask.
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise DiskProblem(f"cannot make the socket {path}: {error.strerror}") from error
    finally:
        os.umask(before)
    listener.listen(_BACKLOG)
    return listener
