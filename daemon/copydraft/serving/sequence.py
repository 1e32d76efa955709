"""One request while it is decoded: what it feeds into the next pass, and what it makes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from copydraft.engine.batch import MAX_BATCH, Feed
from copydraft.engine.verify import Verified, verify
from copydraft.protocol import Delta, Event, Prefill
from copydraft.serving.meter import Meter
from copydraft.serving.text import TextStream, spans_within
from copydraft.tokens import NO_DRAFT

if TYPE_CHECKING:
    from copydraft.drafting.drafter import Drafter
    from copydraft.engine.engine import Engine
    from copydraft.engine.sampling import Picker

_DRAFT_BEHIND_PROMPT = 16
"""Most tokens drafted in the pass that reads the prompt's end: the format's opening."""


class Reader(Protocol):
    """Follows the answer's text; `feed` gives True once nothing more is wanted."""

    def feed(self, delta: str) -> bool: ...
    @property
    def hidden(self) -> int:
        """Characters before what is to be shown, of the text so far."""
        ...

    @property
    def held(self) -> int:
        """Characters behind it."""
        ...


@dataclass(frozen=True)
class Limits:
    """Where a sequence ends and how wide its passes may be, in tokens."""

    max_tokens: int
    draft: int
    tie_threshold: float = 0.0
    """Picks that lead by less (logits) are not believed; 0 outside strict mode."""
    stops: tuple[str, ...] = ()
    """Strings that end the text and are not in it."""
    ends: frozenset[int] = frozenset()
    """Tokens that end it, beside the model's own."""
    spelled: Mapping[int, bytes] = field(default_factory=dict)
    """Control tokens that are to stand in the text, which they print nothing of."""
    beginning: int = 0
    """Characters that the answer has to begin with. In strict mode they are not drafted: a picker
    that follows them cannot make a pick again."""


class ActiveSequence:
    """Prompt and output of a request. `feed` and `take` are called in turns until `stop_reason`.

    Tokens that are known but not in memory are pending: the prompt at first, then the last token
    written, sometimes more after a rollback that had to go further back.

    Strict mode: a pass with a draft leaves keys and values that differ from those of single tokens
    in the last bits, and so do all logits after it. A pick that leads by less than the difference
    may not be plain decoding's. Everything since the last token that was decoded as plain decoding
    does is then decoded again, one token a pass, and the pick made from that.
    """

    def __init__(
        self,
        engine: Engine,
        prompt: list[int],
        drafter: Drafter,
        picker: Picker,
        reader: Reader,
        limits: Limits,
        emit: Callable[[Event], None],
    ) -> None:
        self.stop_reason = ""
        self.margins: list[float] = []
        self.stream = TextStream(limits.stops)
        self.meter = Meter(prompt_tokens=len(prompt))
        self._engine = engine
        self._memory = engine.memory
        self._known = list(prompt)
        self._prompt_length = len(prompt)
        self._drafter = drafter
        self._picker = picker
        self._reader = reader
        self._limits = limits
        self._ends = engine.model.end_tokens | limits.ends
        self._emit = emit
        self._draft = NO_DRAFT
        self._feed = Feed(0, 0, (), 0)
        self._shown = self._told = 0
        # The last prompt token is always decoded: its logits are needed.
        self.meter.reused_tokens = engine.reuse(prompt, len(prompt) - 1)
        # Tokens in memory, from the first on, that were decoded as plain decoding does; what was
        # there before counts as such, since plain decoding would go on from it, too.
        self._exact = self.meter.reused_tokens
        self._redecoding = False
        self._report_prefill()

    @property
    def output(self) -> list[int]:
        """The tokens written so far, the one that ended the answer included."""
        return self._known[self._prompt_length :]

    def feed(self) -> Feed:
        """The tokens for the next pass: a chunk of what is pending, or its end and a draft."""
        start = len(self._memory)
        pending = self._known[start:]
        self._draft = NO_DRAFT
        if self._redecoding:
            self._feed = Feed(self._memory.sequence, start, pending[:1], int(len(pending) == 1))
        elif len(pending) > self._engine.chunk:
            self._feed = Feed(self._memory.sequence, start, pending[: self._engine.chunk], 0)
        else:
            self._propose(start, len(pending))
            tokens = [*pending, *self._draft.tokens]
            rows = 1 + len(self._draft.tokens)
            self._feed = Feed(self._memory.sequence, start, tokens, rows)
        return self._feed

    def take(self, first_row: int, seconds: float) -> None:
        """Use the pass: its rows of logits start at `first_row`, and it took so long."""
        if len(self._memory) == self._exact and not self._draft.tokens:
            self._exact += len(self._feed.tokens)
        self._memory.decoded(self._feed.tokens)
        if self._feed.rows == 0 and not self._redecoding:
            self._memory.checkpoint()
        if not self.meter.output_tokens:
            self._report_prefill()
        elif self._feed.rows == 0:
            self.meter.passed(len(self._feed.tokens), seconds)
        if self._feed.rows == 0:
            return
        exact = self._exact == len(self._memory)
        written = self.meter.output_tokens
        verified = verify(
            self._draft.tokens,
            lambda row: self._picker.pick(self._engine.logits(first_row + row), written + row),
            self._ends,
            tie_threshold=0.0 if exact else self._limits.tie_threshold,
        )
        if len(self._feed.tokens) == self._feed.rows:
            # Not the pass that also read the prompt's end.
            self.meter.passed(len(self._feed.tokens), seconds)
        self.meter.verified(self._draft.corpus, len(self._draft.tokens), verified.accepted)
        self._write(verified)
        self._drafter.written(verified.tokens, verified.accepted)
        # What is in memory must be known, and its last token's logits are still to come.
        keep = min(len(self._memory), len(self._known) - 1)
        self._redecoding = verified.near_tie and not self.stop_reason
        if self._redecoding:
            self.meter.redecoded += len(self._known) - self._exact
            keep = self._exact
        self._memory.rollback(keep)

    def close(self) -> None:
        """Let out the text that was held back, after the last pass or in place of it."""
        self.stream.end()
        self._show()

    def _propose(self, start: int, pending: int) -> None:
        """Draft what may follow `pending` tokens that are decoded from position `start` on."""
        if self._limits.tie_threshold:
            if pending > 1 or len(self.stream.text) < self._limits.beginning:
                return  # plain decoding reads the prompt's end alone
            if start == self._exact:
                # All that follows may be taken back, which recurrent models cannot by themselves.
                self._memory.guard()
        room = min(
            self._limits.draft,
            self._limits.max_tokens - self.meter.output_tokens - 1,
            self._engine.context_size - start - pending - 1,
            MAX_BATCH - pending,
        )
        if pending > 1:
            room = min(room, _DRAFT_BEHIND_PROMPT)
        started = time.perf_counter()
        self._draft = self._drafter.propose(max(0, room))
        self.meter.proposed(time.perf_counter() - started)

    def _write(self, verified: Verified) -> None:
        """Take tokens into the answer, up to the one that ends it."""
        written = copied = 0
        for number, token in enumerate(verified.tokens):
            written += 1
            self._known.append(token)
            drafted = number < verified.accepted
            copied += drafted
            corpus, path = (self._draft.corpus, self._draft.path) if drafted else ("", "")
            self.stop_reason = self._stop_after(token, corpus, path, written)
            if self.stop_reason:
                break
        margins = verified.margins[:written]
        self.margins.extend(margins)
        if written:
            self.meter.wrote(written, copied, margins)
        self._show()

    def _stop_after(self, token: int, corpus: str, path: str, written: int) -> str:
        """Put one token into the text; why the answer ends with it, or ""."""
        if token in self._ends:
            return "end"
        before = len(self.stream.text)
        piece = self._limits.spelled.get(token) or self._engine.model.piece(token)
        self.stream.feed(piece, corpus, path)
        if self._reader.feed(self.stream.text[before:]):
            return "format"
        if self.stream.stopped:
            return "stop"
        if self.meter.output_tokens + written >= self._limits.max_tokens:
            return "length"
        if len(self._known) >= self._engine.context_size:
            return "context"
        return ""

    def _show(self) -> None:
        """Send on what came since the last time, though it may be no text to be shown."""
        written = len(self.stream.text)
        if written == self._told:
            return
        self._told = written
        # What is hidden for now may turn out to be no thinking, and no call.
        start = max(self._shown, self._reader.hidden)
        end = max(start, written - self._reader.held)
        if start < end:
            self._shown = end
        self._emit(
            Delta(
                text=self.stream.text[start:end],
                spans=spans_within(self.stream.spans, start, end),
                tokens=self.meter.output_tokens,
            )
        )

    def _report_prefill(self) -> None:
        done = min(len(self._memory), self._prompt_length)
        self._emit(Prefill(done=done, total=self._prompt_length, reused=self.meter.reused_tokens))
