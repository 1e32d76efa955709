"""The cost of a pass by its width, measured on the machine and model at hand.

The cost is neither linear nor monotone: other kernels take over at certain widths. It is measured
once per model, device and build, kept in the state database, and used for every choice of a
draft's length.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from statistics import median

import msgspec

WIDTHS = (2, 4, 8, 16, 32, 64, 9, 12, 48, 24, 6, 3)
"""Widths beside 1, the ones that say most first; llama.cpp's GPU kernels change above 8."""

BUDGET_S = 8.0
"""No further width is begun after so long: a slow or busy machine is measured coarsely."""

_SINGLES = 8
_SURELY = 4
_REPEATS = 2
_STEADY = 1.4
_ROOM = 1.5
_LEAST_THRESHOLD = 0.05


class Calibration(msgspec.Struct, frozen=True):
    """What a pass costs, and by how much its logits stray from those of single tokens."""

    ms: dict[int, float]
    """Milliseconds by width, for a few widths from 1 up."""
    tie_threshold: float
    """Greedy picks that lead by less may differ between widths (logits)."""
    steady: bool = True
    """Single passes took about the same time each: nothing else kept the machine busy."""

    @classmethod
    def of_table(cls, table: dict[int, float]) -> Calibration:
        """Back from `to_table`."""
        return cls({w: ms for w, ms in table.items() if w > 0}, table[0])

    def to_table(self) -> dict[int, float]:
        """One number per width, and the threshold in place of width 0."""
        return {0: self.tie_threshold, **self.ms}

    def ratio(self, width: int) -> float:
        """Cost of a pass over `width` tokens in passes over one; linear between measured widths."""
        widths = sorted(self.ms)
        at = bisect_left(widths, width)
        if at == len(widths):
            return self.ms[widths[-1]] / self.ms[1] * width / widths[-1]
        high = widths[at]
        if high == width or at == 0:
            return self.ms[high] / self.ms[1]
        low = widths[at - 1]
        share = (width - low) / (high - low)
        return (self.ms[low] + share * (self.ms[high] - self.ms[low])) / self.ms[1]

    def table(self, widest: int) -> list[float]:
        """Ratios for widths 1 … widest; index 0 is width 1."""
        return [self.ratio(width) for width in range(1, widest + 1)]


def calibrate(
    tokens: Sequence[int],
    decode: Callable[[Sequence[int]], None],
    top_logits: Callable[[int, Sequence[int] | None], tuple[Sequence[int], Sequence[float]]],
    rewind: Callable[[], None],
    widest: int,
) -> Calibration:
    """Decode the first tokens of `tokens` (at least `widest`) at each width, and time it.

    `decode` runs one pass with logits for all of its tokens, `rewind` takes all of them back.
    `top_logits(row, ids)` gives the row's likeliest ids, or those asked for, with their logits.
    """
    deadline = time.perf_counter() + BUDGET_S
    single: list[tuple[Sequence[int], Sequence[float]]] = []
    times: list[float] = []
    for token in tokens[:_SINGLES]:
        times.append(_timed(decode, [token]))
        single.append(top_logits(0, None))
    best = {1: min(times)}
    rewind()
    stray = 0.0
    for width in WIDTHS:
        if width > widest or (width > _SURELY and time.perf_counter() > deadline):
            continue
        # Twice: a card's first launch of a kernel also loads it.
        for _ in range(_REPEATS):
            seconds = _timed(decode, tokens[:width])
            best[width] = min(seconds, best.get(width, seconds))
            for row, (ids, expected) in enumerate(single[:width]):
                _, found = top_logits(row, ids)
                stray = max([stray, *(abs(a - b) for a, b in zip(expected, found, strict=True))])
            rewind()
    # Two logits may stray in opposite directions. A few rows that agree prove no exact arithmetic.
    threshold = max(_LEAST_THRESHOLD, 2 * _ROOM * stray)
    steady = median(times) < _STEADY * best[1]
    return Calibration({w: s * 1e3 for w, s in best.items()}, threshold, steady)


def _timed(decode: Callable[[Sequence[int]], None], tokens: Sequence[int]) -> float:
    started = time.perf_counter()
    decode(tokens)
    return time.perf_counter() - started
