"""Random edits by a client, sent to the language server: do both have the same text?

    .venv/bin/python scripts/fuzz_lsp.py [--sequences N] [--seed S]

The client is written for this alone, on whole strings and encoded bytes, so that it shares no
mistake with the server. Messages pass through the server's own reading of JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from copydraft_lsp.__main__ import make_server
from copydraft_lsp.server import CopydraftServer

ENCODINGS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
URI = "file:///fuzz.py"

_PIECES = ["a", "def f():", "  ", "\t", "\n", "\n", "\r\n", "\r", "\n\n", "μ", "é", "e\u0301", "😀",
           "👩\u200d💻", "中文", "\u2028", "\x0c", "\ufeff", "", "x" * 40]  # fmt: skip
_LINE_END = re.compile(r"\r\n|\n|\r")


class Client:
    """An editor with one document."""

    def __init__(self, text: str, encoding: str, random_: random.Random) -> None:
        self.text = text
        self.encoding = encoding
        self.version = 0
        self._random = random_

    def edit(self) -> dict[str, Any]:
        """Make one random edit; the change as LSP writes it."""
        new = text(self._random, 6)
        if self._random.random() < 0.03:
            self.text = new
            return {"text": new}
        start, end = sorted(self._random.choices(range(len(self.text) + 1), k=2))
        if self._random.random() < 0.4:
            end = start
        start, end = (offset - self._inside_line_end(offset) for offset in (start, end))
        ends = self.position(start), self.position(end)
        self.text = self.text[:start] + new + self.text[end:]
        return {"range": {"start": ends[0], "end": ends[1]}, "text": new}

    def position(self, offset: int) -> dict[str, int]:
        """Where `offset` is; at a line's end, sometimes any column behind it."""
        codec, size = ENCODINGS[self.encoding]
        starts = [0, *(found.end() for found in _LINE_END.finditer(self.text))]
        line = bisect_right(starts, offset) - 1
        before = self.text[starts[line] : offset].encode(codec)
        character = len(before) // size
        at_end = offset == len(self.text) or self.text[offset] in "\r\n"
        if at_end and self._random.random() < 0.2:
            character += self._random.randrange(1000)
        return {"line": line, "character": character}

    def _inside_line_end(self, offset: int) -> bool:
        return self.text[offset - 1 : offset + 1] == "\r\n" if offset else False


def text(random_: random.Random, most: int) -> str:
    return "".join(random_.choices(_PIECES, k=random_.randrange(most)))


def send(server: CopydraftServer, method: str, params: dict[str, Any]) -> None:
    """A notification, as it comes over the wire."""
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params})
    protocol = server.protocol
    protocol.handle_message(json.loads(body, object_hook=protocol.structure_message))


def sequence(server: CopydraftServer, seed: int, encoding: str) -> Iterator[tuple[str, str]]:
    """One random session; the texts of client and server after each message."""
    random_ = random.Random(seed)
    server.documents.encoding = encoding
    client = Client(text(random_, 40), encoding, random_)
    item = {"uri": URI, "languageId": "python", "version": 0, "text": client.text}
    send(server, "textDocument/didOpen", {"textDocument": item})
    document = server.documents.get(URI)
    assert document is not None
    for version in range(1, random_.randrange(2, 20)):
        changes = [client.edit() for _ in range(random_.randrange(1, 4))]
        named = {"uri": URI, "version": version}
        send(
            server,
            "textDocument/didChange",
            {"textDocument": named, "contentChanges": changes},
        )
        yield client.text, document.text
    assert document.in_step
    send(server, "textDocument/didClose", {"textDocument": {"uri": URI}})


def main() -> None:
    parser = argparse.ArgumentParser(description="compares a client's documents with the server's")
    parser.add_argument("--sequences", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    server = make_server()
    started, messages = time.monotonic(), 0
    for number in range(arguments.sequences):
        encoding = [*ENCODINGS][number % len(ENCODINGS)]
        for here, there in sequence(server, arguments.seed + number, encoding):
            messages += 1
            if here != there:
                sys.exit(f"seed {arguments.seed + number}, {encoding}: {here!r} became {there!r}")
    seconds = time.monotonic() - started
    print(f"{arguments.sequences} sequences, {messages} messages, all equal ({seconds:.0f} s)")


if __name__ == "__main__":
    main()
