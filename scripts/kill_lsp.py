"""Kills language servers and daemons in the middle of anything: nobody hangs, nothing is left.

A client types, edits, explains, completes and cancels; the server starts daemons (without a model)
as it needs them. Whenever a daemon is killed, every request must be answered; whenever a server is,
the daemon must fall idle. At the end no process may be left. All is drawn from the seed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from lsprotocol import types

from copydraft import paths
from copydraft.api import lifecycle
from copydraft.client import Client
from copydraft.errors import DaemonUnavailable
from tests.fixtures.daemons import FAKE_DAEMON
from tests.fixtures.editor import Editor, editing

LONGEST_S = 60.0
"""Whoever takes longer hangs."""

_TEXT = "a = 1\n# hold\n# echo x\nb = 2\n" * 50
_URI = "file:///w/a.py"

_START = f"""
from copydraft import launch
from copydraft_lsp.__main__ import main
launch.COMMAND = {FAKE_DAEMON!r}
main()
"""
_SERVER = (sys.executable, "-P", "-c", _START)


@contextlib.contextmanager
def own_place() -> Iterator[Path]:
    """Directories of its own for everything, by which its processes can be told from others."""
    names = ("RUNTIME_DIR", "CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME")
    before = {f"XDG_{name}": os.environ.get(f"XDG_{name}") for name in names}
    with tempfile.TemporaryDirectory(prefix="copydraft-", ignore_cleanup_errors=True) as place:
        os.environ.update(dict.fromkeys(before, place))
        try:
            yield Path(place)
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value


def processes(place: Path) -> list[int]:
    """Those that live in `place`, this one excepted."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            variables = (directory / "environ").read_bytes().split(b"\0")
            state = (directory / "stat").read_text().rpartition(")")[2].split()[0]
            if f"XDG_RUNTIME_DIR={place}".encode() in variables and state != "Z":
                found.append(int(directory.name))
    return [pid for pid in found if pid != os.getpid()]


class Session:
    """One server and what its user does."""

    def __init__(self, editor: Editor, chance: random.Random) -> None:
        self._editor = editor
        self._chance = chance
        self.pending: list[asyncio.Future[Any]] = []
        editor.open(_TEXT, _URI)

    def act(self) -> None:
        """Do one thing."""
        editor, line = self._editor, self._chance.randrange(200)
        verb = self._chance.choice(["hold", "echo x y", "flood 20", "refuse"])
        lines = editor.arguments(_URI, (line, line + 1))
        match self._chance.randrange(6):
            case 0:
                self._ask("copydraft.edit", {**lines, "instruction": verb, "id": f"e{line}"})
            case 1:
                self._ask("copydraft.explain", {**lines, "question": verb})
            case 2:
                self._ask("copydraft.prepare", lines)
            case 3:
                editor.type(_URI, (line, 0), "x")
                kind = types.InlineCompletionTriggerKind(self._chance.randrange(1, 3))
                params = types.InlineCompletionParams(
                    types.InlineCompletionContext(kind),
                    types.TextDocumentIdentifier(_URI),
                    types.Position(line, 1),
                )
                completion = editor.client.text_document_inline_completion_async(params)
                self.pending.append(asyncio.ensure_future(completion))
            case 4:
                self._ask("copydraft.status")
            case 5:
                for column in range(self._chance.randrange(20)):
                    editor.type(_URI, (line, column), "y")

    def _ask(self, name: str, *arguments: Any) -> None:
        self.pending.append(self._editor.ask(name, *arguments).answer)

    async def settle(self) -> Counter[str]:
        """How all requests ended; those that would go on for ever are cancelled."""
        await self._editor.command("copydraft.cancel")
        async with asyncio.timeout(LONGEST_S):
            ends = await asyncio.gather(*self.pending, return_exceptions=True)
        self.pending.clear()
        return Counter("fault" if isinstance(end, BaseException) else "answer" for end in ends)


async def kill_daemon() -> bool:
    """Kill whatever is the daemon now; False: there was none."""
    holder = lifecycle.holder()
    if holder is None or not lifecycle.is_held(paths.lock_path()):
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(holder.pid, signal.SIGKILL)
    return True


async def idle() -> None:
    """Wait until the daemon, if there is one, has nothing to do."""
    async with asyncio.timeout(LONGEST_S):
        while True:
            try:
                async with await Client.connect(start=False) as client:
                    status = await client.status()
            except DaemonUnavailable:
                return
            if status.active + status.waiting == 0:
                return
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def session(chance: random.Random) -> AsyncIterator[tuple[Session, Editor]]:
    async with editing(folders=["file:///w"], stop=False, command=_SERVER) as editor:
        yield Session(editor, chance), editor


async def rounds(kills: int, seed: int) -> Counter[str]:
    """Kill so many processes; what happened, counted.

    Raises:
        TimeoutError: something hangs.
    """
    chance = random.Random(seed)
    done: Counter[str] = Counter()
    while done["daemons"] + done["servers"] < kills:
        async with session(chance) as (user, editor):
            for _ in range(chance.randrange(6)):
                if done["daemons"] + done["servers"] + 1 >= kills:
                    break
                for _ in range(chance.randrange(1, 6)):
                    user.act()
                await asyncio.sleep(chance.random() * chance.choice([0.05, 1.0]))
                done["daemons"] += await kill_daemon()
                done += await user.settle()
            for _ in range(chance.randrange(6)):
                user.act()
            await asyncio.sleep(chance.random() * 0.3)
            editor.process.kill()
            await editor.process.wait()
            done["servers"] += 1
            for request in user.pending:
                request.cancel()
        await idle()
    return done


async def run(kills: int, seed: int) -> dict[str, Any]:
    """All rounds, and what is left after them."""
    with own_place() as place:
        done = await rounds(kills, seed)
        return {**done, "left": await left(place)}


async def left(place: Path) -> int:
    """How many processes are still there once the daemon was told to stop."""
    deadline = time.monotonic() + LONGEST_S
    while (there := len(processes(place))) and time.monotonic() < deadline:
        # Maybe one that a server had just started when it was killed: it takes its place first.
        with contextlib.suppress(DaemonUnavailable):
            async with await Client.connect(start=False) as client:
                await client.stop()
        await asyncio.sleep(0.1)
    return there


def main() -> None:
    parser = argparse.ArgumentParser(description="kills language servers and daemons")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    report = asyncio.run(run(arguments.kills, arguments.seed))
    print(json.dumps(report))
    sys.exit(bool(report["left"]))


if __name__ == "__main__":
    main()
