"""What the language server costs its editor: changes, fast typing, many open documents.

Prints, for a document of 10,000 lines, the time in which one change is handled, and, typing at a
rate for a while, how long requests and the daemon lag behind and how much memory the server takes;
then the same with many open documents. The daemon is one without a model.

With `--model`, only the time from the command for an edit to the first streamed text, with a real
daemon: at once, with the prompt prepared as while its instruction is typed, and with a completion
between that and the command.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

from lsprotocol import types

from copydraft.client import Client
from copydraft.models import library
from copydraft_lsp.__main__ import make_server
from copydraft_lsp.server import CopydraftServer
from kill_lsp import own_place
from tests.fixtures.daemons import Running, running
from tests.fixtures.editor import Editor, editing

URI = "file:///w/a.py"
LINES = 10_000
TEXT = "".join(
    f"    value_{number} = compute({number}, other)  # a line\n" for number in range(LINES)
)

FUNCTION = """def area_{0}(width, height):
    if width < 0 or height < 0:
        raise ValueError("negative size")
    return width * height + {0}


"""
EDITED = "".join(FUNCTION.format(number) for number in range(30))
REGION = (61, 65)
"""Lines of one function, amid the others."""
INSTRUCTION = "Rename width to w."
WAYS = ("at once", "prepared", "prepared, then completed")
"""How an edit comes to be asked for."""


class _Nowhere:
    def write(self, data: bytes) -> None:
        pass

    def close(self) -> None:
        pass


def receive(server: CopydraftServer, message: dict[str, Any]) -> float:
    """Have the server handle a message as it comes over the wire; the milliseconds it took.

    Of this thread alone: what others do on a busy machine is not counted.
    """
    body = json.dumps({"jsonrpc": "2.0", **message})
    started = time.thread_time()
    protocol = server.protocol
    protocol.handle_message(json.loads(body, object_hook=protocol.structure_message))
    return 1e3 * (time.thread_time() - started)


def spread(values: Sequence[float]) -> dict[str, float]:
    cuts = quantiles(values, n=100)
    return {"p50": round(cuts[49], 2), "p99": round(cuts[98], 2), "max": round(max(values), 2)}


async def changes(count: int, seed: int) -> dict[str, float]:
    """Milliseconds to handle a keystroke anywhere in the document, with a daemon to send it to."""
    chance = random.Random(seed)
    times = []
    async with running() as daemon:
        server = make_server()
        server.protocol.set_writer(_Nowhere())
        folder = {"uri": "file:///w", "name": "w"}
        begin: dict[str, Any] = {
            "processId": None,
            "rootUri": None,
            "capabilities": {},
            "workspaceFolders": [folder],
        }
        receive(server, {"id": 1, "method": "initialize", "params": begin})
        receive(server, {"method": "initialized", "params": {}})
        item = {"uri": URI, "languageId": "python", "version": 0, "text": TEXT}
        receive(server, {"method": "textDocument/didOpen", "params": {"textDocument": item}})
        for version in range(1, count + 1):
            place = {"line": chance.randrange(LINES), "character": chance.randrange(20)}
            text = chance.choice(["x", "x", "x", "\n", "(", "μ"])
            change = {"range": {"start": place, "end": place}, "text": text}
            params = {"textDocument": {"uri": URI, "version": version}, "contentChanges": [change]}
            times.append(receive(server, {"method": "textDocument/didChange", "params": params}))
            await asyncio.sleep(0.005)
        document = server.documents.get(URI)
        while document and daemon.service.open.of("/w")["a.py"].text != document.text:
            await asyncio.sleep(0.01)
        await server.sender.stop()
    return spread(times)


def resident_mb(editor: Editor) -> float:
    status = Path(f"/proc/{editor.process.pid}/status").read_text("utf-8")
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found
    return round(int(found[1]) / 1024, 1)


def cpu_s(editor: Editor) -> float:
    """Processor time that the server has taken."""
    numbers = Path(f"/proc/{editor.process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def press(editor: Editor, version: int, line: int, column: int) -> None:
    """One key, without the work that the editor for tests does besides."""
    place = types.Position(line, column)
    change = types.TextDocumentContentChangePartial(types.Range(place, place), "x")
    named = types.VersionedTextDocumentIdentifier(version, URI)
    editor.client.text_document_did_change(types.DidChangeTextDocumentParams(named, [change]))


async def lags(editor: Editor, daemon: Running, version: int) -> tuple[float, float]:
    """Milliseconds until a request is answered, and until the daemon has a version."""
    started = time.perf_counter()
    await editor.synced()
    answered = time.perf_counter()
    while daemon.service.open.of("/w")["a.py"].version < version:
        await asyncio.sleep(0.001)
    return 1e3 * (answered - started), 1e3 * (time.perf_counter() - started)


async def typing(rate: int, seconds: int, others: int) -> dict[str, Any]:
    """Keys at a rate into the document, while `others` are open beside it."""
    answers, sent, memory = [], [], []
    async with running() as daemon, editing(folders=["file:///w"]) as editor:
        for number in range(others):
            editor.open(TEXT[:12_000], f"file:///w/other{number}.py")
        started = time.perf_counter()
        editor.open(TEXT, URI)
        while len(daemon.service.open.of("/w")) <= others:
            await asyncio.sleep(0.01)
        opened = time.perf_counter() - started
        begin, cpu = time.perf_counter(), cpu_s(editor)
        for key in range(rate * seconds):
            await asyncio.sleep(max(0.0, begin + key / rate - time.perf_counter()))
            press(editor, key + 2, 5000 + key // 200, key % 200)
            if key % rate == rate // 2:
                answer, daemons = await lags(editor, daemon, key + 2)
                answers.append(answer)
                sent.append(daemons)
                memory.append(resident_mb(editor))
        took, cpu = time.perf_counter() - begin, cpu_s(editor) - cpu
        await lags(editor, daemon, rate * seconds + 1)
        text = daemon.service.open.of("/w")["a.py"].text or ""
        assert len(text) == len(TEXT) + rate * seconds
        return {
            "open documents": others + 1,
            "seconds until the daemon has them": round(opened, 2),
            "keys per second": round(rate * seconds / took, 1),
            "server's processor time per key, ms": round(1e3 * cpu / (rate * seconds), 2),
            "answer ms": spread(answers),
            "key to daemon ms": spread(sent),
            "calls to the daemon": len(daemon.service.updates),
            "resident MB": {
                "first": memory[0],
                "middle": memory[len(memory) // 2],
                "last": memory[-1],
            },
        }


async def complete(editor: Editor, uri: str) -> None:
    """Have the place before the region completed, as if the user had typed there."""
    params = types.InlineCompletionParams(
        types.InlineCompletionContext(types.InlineCompletionTriggerKind.Invoked),
        types.TextDocumentIdentifier(uri),
        types.Position(REGION[0] - 1, 0),
    )
    await editor.client.text_document_inline_completion_async(params)


async def first_text(model: str, repeats: int) -> dict[str, Any]:
    """Milliseconds from the command to the first delta; and of these, outside of the engine."""
    waits: dict[str, list[float]] = {way: [] for way in WAYS}
    outside: list[float] = []
    options = {"model": model}
    async with editing(folders=["file:///w"], options=options) as editor:
        for number in range(1 + len(WAYS) * repeats):  # the first loads the model
            way = WAYS[number % len(WAYS)]
            uri = editor.open(f"# {number}\n{EDITED}", f"file:///w/edited{number}.py")
            if way != "at once":
                await editor.command("copydraft.prepare", editor.arguments(uri, REGION))
            if way == "prepared, then completed":
                await complete(editor, uri)
            editor.deltas.clear()
            started = time.perf_counter()
            arguments = editor.arguments(uri, REGION, instruction=INSTRUCTION, id=f"edit {number}")
            asked = editor.ask("copydraft.edit", arguments)
            while not editor.deltas:
                await asyncio.sleep(0.0005)
            took = 1e3 * (time.perf_counter() - started)
            stats = (await asked)["stats"]
            if number:
                waits[way].append(took)
                outside.append(took - stats["first_token_ms"])
        async with await Client.connect() as client:
            await client.stop()
    return {
        **{way: [round(ms) for ms in waits[way]] for way in WAYS},
        "outside of the engine": [round(ms, 1) for ms in outside],
    }


async def measure(arguments: argparse.Namespace) -> None:
    print("handling a change, ms:", json.dumps(await changes(arguments.changes, 0)))
    for others in (0, 500):
        with contextlib.suppress(asyncio.CancelledError):
            report = await typing(arguments.rate, arguments.seconds, others)
            print("typing:", json.dumps(report))


def main() -> None:
    parser = argparse.ArgumentParser(description="measures the language server")
    parser.add_argument("--changes", type=int, default=2000)
    parser.add_argument("--rate", type=int, default=200, help="keys a second")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--model", help="measure the time to the first text with this model")
    parser.add_argument("--repeats", type=int, default=5, help="edits of each way")
    arguments = parser.parse_args()
    model = arguments.model and str(library.resolve(arguments.model))
    with own_place():
        if model:
            print(
                "to the first text, ms:",
                json.dumps(asyncio.run(first_text(model, arguments.repeats))),
            )
        else:
            asyncio.run(measure(arguments))


if __name__ == "__main__":
    main()
