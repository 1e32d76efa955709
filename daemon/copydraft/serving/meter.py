"""What one request costs and what drafting brings it, counted as it goes."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from statistics import median

from copydraft.protocol import Kind, RequestStats, WidthTime


@dataclass
class _Rate:
    """Tokens and the time that they took."""

    tokens: int = 0
    seconds: float = 0.0

    def add(self, tokens: int, seconds: float) -> None:
        self.tokens += tokens
        self.seconds += seconds

    @property
    def per_second(self) -> float:
        return self.tokens / self.seconds if self.seconds > 0 else 0.0


@dataclass
class Meter:
    """Counts of one sequence. Times are seconds of `time.perf_counter`."""

    prompt_tokens: int = 0
    reused_tokens: int = 0
    redecoded: int = 0
    output_tokens: int = 0
    copied_tokens: int = 0
    _started: float = field(default_factory=time.perf_counter)
    _first_token: float | None = None
    _last_token: float = 0.0
    _copied: _Rate = field(default_factory=_Rate)
    _novel: _Rate = field(default_factory=_Rate)
    _drafted: Counter[str] = field(default_factory=Counter)
    _accepted: Counter[str] = field(default_factory=Counter)
    _proposals: list[float] = field(default_factory=list)
    _passes: dict[int, _Rate] = field(default_factory=dict)
    _smallest_margin: float | None = None

    def proposed(self, seconds: float) -> None:
        """The drafter was asked, and took so long."""
        self._proposals.append(seconds)

    def passed(self, width: int, seconds: float) -> None:
        """A pass over `width` tokens, after the prompt was read."""
        self._passes.setdefault(width, _Rate()).add(1, seconds)

    def verified(self, corpus: str, drafted: int, accepted: int) -> None:
        """Of so many drafted tokens of a corpus so many were right."""
        if drafted:
            self._drafted[corpus] += drafted
            self._accepted[corpus] += accepted

    def wrote(self, tokens: int, copied: int, margins: list[float]) -> None:
        """A pass wrote `tokens`, of them `copied` from the draft.

        The time since the pass before is shared evenly among them, so a draft that was all wrong
        makes the new token after it slower.
        """
        now = time.perf_counter()
        if self._first_token is None:
            # The time of this pass went into the prompt.
            self._first_token = now
        else:
            each = (now - self._last_token) / max(1, tokens)
            self._copied.add(copied, each * copied)
            self._novel.add(tokens - copied, each * (tokens - copied))
        self._last_token = now
        self.output_tokens += tokens
        self.copied_tokens += copied
        seen = [] if self._smallest_margin is None else [self._smallest_margin]
        self._smallest_margin = min([*seen, *margins], default=None)

    def stats(
        self,
        *,
        kind: Kind,
        agent: str,
        model: str,
        device: str,
        draft: bool,
        strict: bool,
        stop_reason: str,
    ) -> RequestStats:
        first = self._first_token
        timed = _Rate(
            self._copied.tokens + self._novel.tokens, self._copied.seconds + self._novel.seconds
        )
        return RequestStats(
            kind=kind,
            agent=agent,
            model=model,
            device=device,
            draft=draft,
            strict=strict,
            prompt_tokens=self.prompt_tokens,
            reused_tokens=self.reused_tokens,
            output_tokens=self.output_tokens,
            copied_tokens=self.copied_tokens,
            passes=sum(rate.tokens for rate in self._passes.values()),
            drafted=dict(self._drafted),
            accepted=dict(self._accepted),
            draft_us=median(self._proposals) * 1e6 if self._proposals else 0.0,
            verify=[
                WidthTime(width=width, passes=rate.tokens, ms=rate.seconds * 1e3)
                for width, rate in sorted(self._passes.items())
            ],
            first_token_ms=(first - self._started) * 1e3 if first is not None else 0.0,
            decode_ms=timed.seconds * 1e3,
            tokens_per_s=timed.per_second,
            tokens_per_s_copied=self._copied.per_second,
            tokens_per_s_novel=self._novel.per_second,
            stop_reason=stop_reason,
            read_write_ratio=self.prompt_tokens / max(1, self.output_tokens),
            redecoded=self.redecoded,
            smallest_margin=self._smallest_margin,
        )
