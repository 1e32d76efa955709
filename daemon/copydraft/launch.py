"""Starting and replacing the daemon, as its clients do it: one at a time, whoever comes first."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import IO

import httpx
import msgspec

from copydraft import __version__, paths
from copydraft.api import lifecycle
from copydraft.errors import DaemonUnavailable, DiskProblem, VersionMismatch
from copydraft.protocol import PROTOCOL_VERSION, Peer, version_mismatch

# -P: a file random.py where the daemon is started is not Python's random.
COMMAND = (sys.executable, "-P", "-m", "copydraft", "daemon", "run")

START_LIMIT_S = 30.0
STOP_LIMIT_S = 15.0
_ANSWER_LIMIT_S = 10.0
_POLL_S = 0.02
_LOG_LINES = 5


async def find(http: httpx.AsyncClient) -> Peer | None:
    """The daemon that answers now; None if there is none, or it is stopping.

    Raises:
        DaemonUnavailable: a daemon is there and does not answer.
        VersionMismatch: what answers is not a daemon that this client can know.
    """
    try:
        response = await http.get("/v1/status", timeout=_ANSWER_LIMIT_S)
    except httpx.TimeoutException as error:
        raise DaemonUnavailable(
            f"the daemon ({_who()}) does not answer", "end that process, then run again"
        ) from error
    except httpx.TransportError:
        return None
    if response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
        return None
    try:
        return msgspec.json.decode(response.content, type=Peer)
    except msgspec.DecodeError as error:
        raise VersionMismatch(
            f"the daemon ({_who()}) speaks no protocol of ours", "end that process, then run again"
        ) from error


async def ensure(http: httpx.AsyncClient, notice: Callable[[str], None]) -> None:
    """Return when a daemon of this version answers (or a busy one of this protocol).

    An idle daemon of another version is replaced, which `notice` is told.

    Raises:
        DaemonUnavailable: none could be started.
        VersionMismatch: a daemon of another protocol is at work.
    """
    if _is_ours(await find(http)):
        return
    deadline = time.monotonic() + START_LIMIT_S
    async with _turn(deadline):
        peer = await find(http)
        if peer is not None and not _is_ours(peer):
            if await stop_if_idle(http):
                notice(f"replaced the daemon of version {peer.version} by {__version__}")
                peer = None
            elif peer.protocol != PROTOCOL_VERSION:
                raise version_mismatch(client=PROTOCOL_VERSION, daemon=peer.protocol)
        if peer is None:
            await _start(http, deadline)


async def gone() -> None:
    """Return when no process is the daemon any more.

    Raises:
        DaemonUnavailable: it does not end.
    """
    deadline = time.monotonic() + STOP_LIMIT_S
    while lifecycle.is_held(paths.lock_path()):
        if time.monotonic() > deadline:
            raise DaemonUnavailable(f"the daemon ({_who()}) does not stop", "end that process")
        await asyncio.sleep(_POLL_S)


def _is_ours(peer: Peer | None) -> bool:
    return peer is not None and (peer.version, peer.protocol) == (__version__, PROTOCOL_VERSION)


async def stop_if_idle(http: httpx.AsyncClient) -> bool:
    """End the daemon and return when its process is gone; False, and nothing else, if it works.

    Raises:
        DaemonUnavailable: it does not end.
    """
    with contextlib.suppress(httpx.TransportError):  # it was ending by itself
        response = await http.post("/v1/stop", params={"if_idle": 1}, timeout=_ANSWER_LIMIT_S)
        if response.status_code == httpx.codes.CONFLICT:
            return False
    await gone()
    return True


@contextlib.asynccontextmanager
async def _turn(deadline: float) -> AsyncIterator[None]:
    """Be the only client that starts or replaces the daemon."""
    lock = os.open(paths.start_lock_path(), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while not lifecycle.try_lock(lock):
            if time.monotonic() > deadline:
                raise DaemonUnavailable("another client is still starting the daemon", "run again")
            await asyncio.sleep(_POLL_S)
        yield
    finally:
        os.close(lock)


async def _start(http: httpx.AsyncClient, deadline: float) -> None:
    while await find(http) is None:
        if time.monotonic() > deadline:
            raise DaemonUnavailable(
                f"the daemon ({_who()}) did not start within {START_LIMIT_S:.0f} s",
                f"see {paths.error_output_file()}",
            )
        # A held lock means a daemon that is starting (its client was killed) or still stopping.
        if not lifecycle.is_held(paths.lock_path()):
            await _start_once(http, deadline)
        await asyncio.sleep(_POLL_S)


async def _start_once(http: httpx.AsyncClient, deadline: float) -> None:
    """Spawn a daemon and wait until it answers; also return if another took its place."""
    with contextlib.ExitStack() as files:
        try:
            paths.make_dir(paths.state_dir())
            output: IO[bytes] | None = files.enter_context(paths.error_output_file().open("ab"))
        except (OSError, DiskProblem):
            output = None
        printed_before = output.tell() if output else 0
        process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.DEVNULL,
            stdout=output or subprocess.DEVNULL,
            stderr=output or subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    # It outlives most clients; where it ends first, this keeps it from staying a zombie.
    threading.Thread(target=process.wait, daemon=True).start()
    while process.returncode is None and time.monotonic() < deadline:
        if await find(http) is not None:
            return
        await asyncio.sleep(_POLL_S)
    if process.returncode not in (None, DaemonUnavailable.exit_status):
        raise DaemonUnavailable(
            f"the daemon ended while it started (status {process.returncode})"
            + (_last_lines(printed_before) if output else ""),
            f"see {paths.error_output_file()} and {paths.log_file()}",
        )


def _last_lines(offset: int) -> str:
    with paths.error_output_file().open("rb") as file:
        file.seek(offset)
        lines = file.read().decode("utf-8", "replace").splitlines()
    return "".join(f"\n  {line}" for line in lines[-_LOG_LINES:])


def _who() -> str:
    holder = lifecycle.holder()
    return f"process {holder.pid}" if holder else "process unknown"
