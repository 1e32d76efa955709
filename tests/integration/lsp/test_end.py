"""How a server ends: with its editor, however that ends, and never with the daemon."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from copydraft.client import Client
from tests.fixtures.daemons import Running, until
from tests.fixtures.editor import COMMAND, editing

# An editor that says nothing: all that matters is that it has the other ends of the pipes.
EDITOR = """
import subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(server.pid, flush=True)
server.wait()
"""


@pytest.fixture
def other_editor() -> Iterator[subprocess.Popen[str]]:
    """A process that has started a server, and says which on its stdout."""
    command = (sys.executable, "-c", EDITOR, *COMMAND)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def runs(pid: int) -> bool:
    """Whether there is such a process that has not ended; nobody may have asked for its status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_server_that_is_told_to_end_does_so_and_its_request_too(daemon: Running) -> None:
    async with editing(stop=False) as editor:
        uri = editor.open("a = 1\n")
        asked = editor.ask("copydraft.explain", editor.arguments(uri, (0, 1), question="hold"))
        await until(lambda: len(daemon.service.tickets) == 1)
        await editor.client.shutdown_session()  # type: ignore[attr-defined]
        assert await editor.process.wait() == 0
        asked.answer.cancel()
    await until(lambda: daemon.service.outcomes == ["cancelled"])


async def test_a_server_ends_when_its_editor_is_killed_and_the_daemon_lives(
    daemon: Running, other_editor: subprocess.Popen[str]
) -> None:
    assert other_editor.stdout
    server = int(await asyncio.to_thread(other_editor.stdout.readline))
    assert runs(server)
    other_editor.send_signal(signal.SIGKILL)
    await until(lambda: not runs(server))
    async with await Client.connect(start=False) as client:
        assert (await client.status()).pid == os.getpid()
