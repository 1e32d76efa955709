"""From written tokens to text: whole characters only, stop strings, and where parts came from."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from copydraft.protocol import Span


class TextStream:
    """The text of an answer, as far as it can be shown.

    A character whose bytes are not complete is held back, and so is text that may turn out to be
    the start of a stop string. `text` and `spans` hold all that was let out; the spans cover it.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self.text = ""
        self.spans: list[Span] = []
        self.stopped = False
        self._stops = [stop for stop in stops if stop]
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held: list[tuple[str, str, str]] = []

    def feed(self, piece: bytes, corpus: str = "", path: str = "") -> None:
        """Take the bytes of one token; `stopped` is set when a stop string is complete."""
        self._add(self._decoder.decode(piece), corpus, path)

    def end(self) -> None:
        """Let out what was held back: no more comes."""
        self._add(self._decoder.decode(b"", final=True), "", "")
        if not self.stopped:
            self._release(sum(len(text) for text, _, _ in self._held))

    def _add(self, text: str, corpus: str, path: str) -> None:
        if not text or self.stopped:
            return
        self._held.append((text, corpus, path))
        held = "".join(text for text, _, _ in self._held)
        found = [at for stop in self._stops if (at := held.find(stop)) >= 0]
        if found:
            self.stopped = True
            self._release(min(found))
        else:
            self._release(len(held) - self._longest_start_of_stop(held))

    def _longest_start_of_stop(self, held: str) -> int:
        return max(
            (
                size
                for stop in self._stops
                for size in range(1, min(len(stop), len(held) + 1))
                if held.endswith(stop[:size])
            ),
            default=0,
        )

    def _release(self, count: int) -> None:
        while count > 0:
            text, corpus, path = self._held.pop(0)
            if len(text) > count:
                self._held.insert(0, (text[count:], corpus, path))
                text = text[:count]
            count -= len(text)
            start = len(self.text)
            self.text += text
            last = self.spans[-1] if self.spans else None
            if last is not None and (last.corpus, last.path) == (corpus, path):
                start = self.spans.pop().start
            self.spans.append(Span(start=start, end=len(self.text), corpus=corpus, path=path))


def spans_within(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    """The part of `spans` within [start, end), counted from `start`."""
    return [
        Span(
            start=max(span.start, start) - start,
            end=min(span.end, end) - start,
            corpus=span.corpus,
            path=span.path,
        )
        for span in spans
        if span.end > start and span.start < end
    ]
