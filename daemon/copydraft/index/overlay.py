"""Open documents as editors have them: their unsaved text stands for that of the files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from copydraft.index.buffer import Buffer
from copydraft.index.segment import Segment, Source, build

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from copydraft.index.tokenizing import BulkTokenizer, Printing


class _Open:
    """One open document in each format: its tokens, and the segment made of them when searched."""

    def __init__(self, version: int, tokens: dict[str, NDArray[np.uint32]]) -> None:
        self.version = version
        self.tokens = tokens
        self.segments: dict[str, Segment] = {}


class Overlay:
    """The open documents of one workspace. Safe in any thread; only `open` and `close` wait."""

    def __init__(self, tokenizer: Callable[[], BulkTokenizer], printings: Sequence[Printing]):
        self._tokenizer = tokenizer
        self._printings = printings
        self._buffers: dict[str, dict[str, Buffer]] = {}
        self._open: dict[str, _Open] = {}
        self._writing = threading.Lock()
        """Held while a document is tokenised, which may take long."""
        self._lock = threading.Lock()

    @property
    def names(self) -> frozenset[str]:
        """All open documents: these hide the files of the same path."""
        with self._lock:
            return frozenset(self._open)

    def open(self, name: str, version: int, text: str) -> None:
        """Take in a document, or its text as it is now; `name` is its path or what it is called.

        Cost: of an open document, that of comparing the texts and tokenising what differs.
        """
        if "\r" in text:  # looking is much quicker than replacing
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        with self._writing:
            buffers = self._buffers.setdefault(name, {})
            for printing in self._printings:
                printed = printing.printed(text) if text else ""
                if printing.name in buffers:
                    buffers[printing.name].become(printed)
                else:
                    buffers[printing.name] = Buffer(self._tokenizer(), printed)
            document = _Open(version, {key: buffer.tokens for key, buffer in buffers.items()})
            with self._lock:
                self._open.pop(name, None)
                self._open[name] = document  # the last changed is the last

    def close(self, name: str) -> None:
        """The file counts again. A document that is not open is no fault."""
        with self._writing, self._lock:
            self._buffers.pop(name, None)
            self._open.pop(name, None)

    def segments(self, printing: Printing) -> list[Segment]:
        """The open documents, those changed last first. Sorts what changed since the last call."""
        with self._lock:
            opened = list(self._open.items())[::-1]
        return [_segment(name, each, printing) for name, each in opened]


def _segment(name: str, document: _Open, printing: Printing) -> Segment:
    # Two threads may do it at once, to the same end.
    segment = document.segments.get(printing.name)
    if segment is None:
        source = Source("buffer", name, printing.field, document.version)
        segment = build([(source, document.tokens[printing.name])])
        document.segments[printing.name] = segment
    return segment
