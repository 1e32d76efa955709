"""What is left of an edit whose window closes, or whose extension host is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from copydraft.client import Client
from copydraft.errors import DaemonUnavailable
from copydraft.protocol import Delta
from tests.e2e.vscode import host, install
from tests.fixtures.daemons import edit

FILE = "a.py"
# Does not end by itself: see tests/fixtures/fake_service.py.
FOREVER = "hold"
IDLE_EXIT_MINUTES = "0.1"
POLL_S = 0.1


def programs(home: Path, word: str) -> set[int]:
    """Processes of the user who lives in `home` that have this word in their command."""
    user = f"XDG_RUNTIME_DIR={home}/run".encode()
    found = set()
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            ours = user in (directory / "environ").read_bytes().split(b"\0")
            if ours and word.encode() in (directory / "cmdline").read_bytes():
                found.add(int(directory.name))
    return found


def ours(home: Path) -> set[int]:
    """The extension, the language server and the daemon: VS Code has no Python of its own."""
    return programs(home, sys.executable)


@contextlib.asynccontextmanager
async def window(
    installed: install.Installed, home: Path, url: str
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """A window that waits for the answer to `FOREVER`; the call that closes it."""
    (home / "workspace" / FILE).write_text("a = 1\n")
    browser = {
        "CHROMIUM": installed.browser,
        "PROFILE": str(home / "browser"),
        "LIMIT_MS": "300000",
    }
    process = await asyncio.create_subprocess_exec(
        *(installed.node, host.prepare_script(installed, "window.mjs"), url, FILE, FOREVER),
        env={**os.environ, **browser},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    stdin, stdout = process.stdin, process.stdout
    assert stdin
    assert stdout

    async def close() -> None:
        stdin.close()
        assert await process.wait() == 0

    try:
        assert await stdout.readline() == b"asked\n"
        yield close
    finally:
        if process.returncode is None:
            process.kill()


class OtherProgram:
    """Another of the user's that asks, too. While it does, the daemon is not idle."""

    def __init__(self, client: Client) -> None:
        self.answered = asyncio.Event()
        """Its turn has come: before, the window's edit must have ended."""
        self._asking = asyncio.create_task(self._ask(client))

    async def _ask(self, client: Client) -> None:
        async for event in client.edit(edit(FOREVER)):
            if isinstance(event, Delta):
                self.answered.set()

    def stop(self) -> None:
        self._asking.cancel()


async def connected() -> Client:
    """To the daemon that the language server starts, which may take longer than the preview."""
    while True:
        with contextlib.suppress(DaemonUnavailable):
            return await Client.connect(start=False)
        await asyncio.sleep(POLL_S)


async def no_longer(found: Callable[[], object]) -> None:
    while found():
        await asyncio.sleep(POLL_S)


@pytest.mark.timeout(1800)  # the first time, VS Code is installed
@pytest.mark.parametrize("ending", ["closed", "killed"])
async def test_only_the_shared_daemon_is_left_and_goes_when_idle(
    ending: str, installed: install.Installed, vscode_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = vscode_home / ending
    environment = host.isolated(home, COPYDRAFT_IDLE_EXIT_MINUTES=IDLE_EXIT_MINUTES)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "run"))
    with host.extension_host(installed, home, environment, host.one_folder(home)) as url:
        async with (
            window(installed, home, url) as close,
            await connected() as client,
        ):
            while (await client.status()).active == 0:
                await asyncio.sleep(POLL_S)
            daemon = (await client.status()).pid
            (server,) = ours(home) - {daemon}
            other = OtherProgram(client)
            if ending == "killed":
                (extension_host,) = programs(home, "--type=extensionHost")
                os.kill(extension_host, signal.SIGKILL)
            else:
                await close()
            await no_longer(lambda: server in ours(home))
            await other.answered.wait()
            assert (await client.status()).pid == daemon

            # For a window that is still open, VS Code has started all of it again.
            await close()
            await no_longer(lambda: ours(home) != {daemon})
            other.stop()
        await no_longer(lambda: ours(home))
