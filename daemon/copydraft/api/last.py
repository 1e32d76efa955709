"""The answer that was written last, with the origin of its parts: for the statistics page.

It lives in the daemon's memory only. It goes when the statistics are cleared, and when the model is
unloaded for want of use or because somebody asked; a switch to another model leaves it. Completions
are left out: one at every pause in typing would replace the edit that somebody looks at.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from copydraft.protocol import (
    ChatResult,
    Delta,
    EditResult,
    Event,
    ExplainResult,
    Failed,
    Kind,
    LastAnswer,
    Span,
)


class LastAnswers:
    """Keeps one answer, and the one that is being written; for the event loop's thread."""

    def __init__(self) -> None:
        self._ended: LastAnswer | None = None
        self._written: _Growing | None = None

    def answer(self) -> LastAnswer | None:
        """The answer that is being written now, else the one that ended last."""
        return self._written.so_far() if self._written else self._ended

    def forget(self) -> None:
        """Drop the answer that ended; one that is being written stays until its own end."""
        self._ended = None

    def follow(self, kind: Kind, path: str) -> Callable[[Event], None]:
        """What has to be called with every event of a request about `path`."""
        growing = _Growing(kind, path)

        def watch(event: Event) -> None:
            match event:
                case Delta():
                    growing.add(event)
                    self._written = growing
                case EditResult() | ExplainResult() | ChatResult():
                    self._ended = growing.ended(event)
                    self._leave(growing)
                case Failed():
                    self._leave(growing)
                case _:
                    pass

        return watch

    def _leave(self, growing: _Growing) -> None:
        if self._written is growing:
            self._written = None


class _Growing:
    """An answer while it is being written."""

    def __init__(self, kind: Kind, path: str) -> None:
        self._kind = kind
        self._path = path
        self._parts: list[str] = []
        self._spans: list[Span] = []
        self._length = 0
        self._tokens = 0
        self._first: tuple[float, int] | None = None
        """When the first Delta came, and how many tokens it brought."""

    def add(self, delta: Delta) -> None:
        if self._first is None:
            self._first = time.monotonic(), delta.tokens
        for span in delta.spans:
            self._append(span)
        self._parts.append(delta.text)
        self._length += len(delta.text)
        self._tokens = delta.tokens

    def _append(self, span: Span) -> None:
        """Spans of a Delta count from its own start; what belongs together becomes one."""
        start, end = self._length + span.start, self._length + span.end
        if self._spans:
            last = self._spans[-1]
            if (last.corpus, last.path, last.end) == (span.corpus, span.path, start):
                self._spans[-1] = msgspec.structs.replace(last, end=end)
                return
        self._spans.append(msgspec.structs.replace(span, start=start, end=end))

    def so_far(self) -> LastAnswer:
        self._parts = ["".join(self._parts)]
        return LastAnswer(
            kind=self._kind,
            path=self._path,
            text=self._parts[0],
            spans=[*self._spans],
            tokens=self._tokens,
            tokens_per_s=self._speed(),
            stats=None,
        )

    def _speed(self) -> float:
        if self._first is None:
            return 0.0
        moment, tokens = self._first
        seconds = time.monotonic() - moment
        return (self._tokens - tokens) / seconds if seconds > 0 else 0.0

    def ended(self, result: EditResult | ExplainResult | ChatResult) -> LastAnswer:
        return LastAnswer(
            kind=self._kind,
            path=self._path,
            # The spans of a chat's answer cover its thinking and its calls too.
            text=result.answer if isinstance(result, ChatResult) else result.text,
            spans=result.spans,
            tokens=result.stats.output_tokens,
            tokens_per_s=result.stats.tokens_per_s,
            stats=result.stats,
        )
