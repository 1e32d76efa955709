"""Open documents as editors have them: their unsaved text stands for that of the files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from copydraft.errors import BadRequest
from copydraft.index.buffer import Buffer
from copydraft.index.segment import Segment, Source, build
from copydraft.workspace.scanner import is_secret

if TYPE_CHECKING:
    from copydraft.index.tokenizing import BulkTokenizer, Printing

LARGEST_CHARACTERS = 4_000_000
"""A larger document is not drafted from."""


class BufferEdit(NamedTuple):
    """Put `text` in the place of the characters (code points) [start, end)."""

    start: int
    end: int
    text: str


class _Open:
    """One open document, printed in each format as far as it was searched in it."""

    def __init__(self, version: int, text: str) -> None:
        self.version = version
        self.text = text
        self.buffers: dict[str, Buffer] = {}
        self.segments: dict[str, Segment] = {}


class Overlay:
    """The open documents of one workspace. Safe in any thread."""

    def __init__(self, tokenizer: Callable[[], BulkTokenizer], printings: Sequence[Printing]):
        self._tokenizer = tokenizer
        self._printings = printings
        self._open: dict[str, _Open] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> frozenset[str]:
        """All open documents: these hide the files of the same path."""
        with self._lock:
            return frozenset(self._open)

    def open(self, name: str, version: int, text: str) -> None:
        """Take in a document, or all of one that is open; `name` is its path or what it is called.

        Documents that hold secrets by their name, and very large ones, are taken as empty.
        """
        with self._lock:
            self._open[name] = _Open(version, "")
            self._become(name, version, text)

    def change(self, name: str, version: int, edits: Iterable[BufferEdit]) -> None:
        """Make edits one after the other, each in the text that the one before left.

        Raises:
            BadRequest: the document is not open, has had this version, or an edit is outside its
                text. It is as it was; send the whole text by `open`.
        """
        with self._lock:
            document = self._open.get(name)
            if document is None or version <= document.version:
                has = "is not open" if document is None else f"has version {document.version}"
                raise BadRequest(f"{name} {has}: no change to {version}", "send the whole text")
            text = document.text
            for edit in edits:
                if not 0 <= edit.start <= edit.end <= len(text):
                    raise BadRequest(
                        f"{name} has {len(text)} characters: no change of "
                        f"{edit.start} to {edit.end}",
                        "send the whole text",
                    )
                text = text[: edit.start] + edit.text + text[edit.end :]
            self._become(name, version, text)

    def close(self, name: str) -> None:
        """The file counts again. A document that is not open is no fault."""
        with self._lock:
            self._open.pop(name, None)

    def segments(self, printing: Printing) -> list[Segment]:
        """The open documents, those changed last first. Sorts what changed since the last call."""
        with self._lock:
            opened = list(self._open.items())[::-1]
            return [self._segment(name, document, printing) for name, document in opened]

    def _become(self, name: str, version: int, text: str) -> None:
        document = self._open.pop(name)
        self._open[name] = document  # the last changed is the last
        document.version = version
        document.text = "" if is_secret(name) or len(text) > LARGEST_CHARACTERS else text
        document.segments.clear()
        for printing in self._printings:
            self._print(document, printing)

    def _print(self, document: _Open, printing: Printing) -> None:
        text = document.text
        if "\r" in text:  # looking is much quicker than replacing
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        printed = printing.printed(text) if text else ""
        buffer = document.buffers.get(printing.name)
        if buffer is None:
            document.buffers[printing.name] = Buffer(self._tokenizer(), printed)
        else:
            buffer.become(printed)

    def _segment(self, name: str, document: _Open, printing: Printing) -> Segment:
        segment = document.segments.get(printing.name)
        if segment is None:
            source = Source("buffer", name, printing.field, document.version)
            segment = build([(source, document.buffers[printing.name].tokens)])
            document.segments[printing.name] = segment
        return segment
