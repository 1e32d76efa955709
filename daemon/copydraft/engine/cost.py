"""The cost of a pass by its width, measured on the machine and model at hand.

The cost is neither linear nor monotone: other kernels take over at certain widths. It is measured
once per model, device and build, kept in the state database, and used for every choice of a
draft's length.

A busy machine cannot be measured: a wide pass takes long enough to be disturbed every time, a pass
over one token may slip through, and what seems too dear is never drafted, so that no request would
ever correct it. There the costs are presumed low, as on a good CPU, and requests correct them.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

import msgspec

WIDTHS = (2, 4, 8, 16, 32, 64, 9, 12, 48, 24, 6, 3)
"""Widths beside 1, the ones that say most first; llama.cpp's GPU kernels change above 8."""

BUDGET_S = 8.0
"""No further width is begun after so long: a slow or busy machine is measured coarsely."""

_SINGLES = 8
_SURELY = 4
_REPEATS = 2
_STEADY = 1.4
_MOSTLY = 0.7
"""Of the single passes, spread over the whole time: so many have to be steady."""

_PRESUMED_SLOPE = 0.25
"""For each further token of a pass, in single passes: 0.2 and 0.4 were measured on CPUs, at 64."""

_ROOM = 1.5
_LEAST_THRESHOLD = 0.05
_STEADY_PASSES = 16
"""Passes that weigh as much as what was known before."""
_MOST_CORRECTION = 3.0


class Calibration(msgspec.Struct, frozen=True):
    """What a pass costs, and by how much its logits stray from those of single tokens."""

    ms: dict[int, float]
    """Milliseconds by width, for a few widths from 1 up."""
    tie_threshold: float
    """Greedy picks that lead by less may differ between widths (logits)."""
    steady: bool = True
    """Single passes took about the same time each: nothing else kept the machine busy. Else no
    cost is higher than presumed."""

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


class Costs:
    """What passes cost: as calibrated, corrected by the passes of real requests.

    A calibration is short, and so is its context: behind a thousand tokens, wide passes were seen
    to cost a fifth more. What is measured of a width counts for all widths of its magnitude.
    """

    def __init__(self, calibration: Calibration) -> None:
        self._calibration = calibration
        self._single_ms = calibration.ms[1]
        self._corrections: dict[int, float] = {}
        self._tables: dict[int, list[float]] = {}

    def table(self, widest: int) -> list[float]:
        """Ratios for widths 1 … widest; index 0 is width 1.

        It is the same list every time, and `learn` changes it.
        """
        if widest not in self._tables:
            self._tables[widest] = self._calibration.table(widest)
            self._correct(self._tables[widest])
        return self._tables[widest]

    def learn(self, passes: Iterable[tuple[int, int, float]]) -> None:
        """Of passes of a request: their width, how many there were, and their milliseconds in all.

        Widths are compared with the single passes of the same request, behind the same context.
        """
        by_width = {width: (count, ms) for width, count, ms in passes if count}
        count, ms = by_width.pop(1, (0, 0.0))
        if count >= _SINGLES:
            self._single_ms = ms / count
        for width, (count, ms) in by_width.items():
            seen = ms / count / self._single_ms / self._calibration.ratio(width)
            magnitude = _magnitude(width)
            old = self._corrections.get(magnitude, 1.0)
            new = min(max(seen, 1 / _MOST_CORRECTION), _MOST_CORRECTION)
            self._corrections[magnitude] = old + count / (count + _STEADY_PASSES) * (new - old)
        for table in self._tables.values():
            self._correct(table)

    def _correct(self, table: list[float]) -> None:
        for width in range(2, len(table) + 1):
            correction = self._corrections.get(_magnitude(width), 1.0)
            table[width - 1] = max(1.0, self._calibration.ratio(width) * correction)


def _magnitude(width: int) -> int:
    """1 for width 2, 2 for 3-4, 3 for 5-8 …"""
    return (width - 1).bit_length()


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
    rewind()
    best: dict[int, float] = {}
    stray = 0.0
    for width in WIDTHS:
        if width > widest or (width > _SURELY and time.perf_counter() > deadline):
            continue
        if steady := _steady(times):
            times.append(_timed(decode, tokens[:1]))
            rewind()
        # Twice: a card's first launch of a kernel also loads it.
        for _ in range(_REPEATS if steady else 1):
            seconds = _timed(decode, tokens[:width])
            best[width] = min(seconds, best.get(width, seconds))
            for row, (ids, expected) in enumerate(single[:width]):
                _, found = top_logits(row, ids)
                stray = max([stray, *(abs(a - b) for a, b in zip(expected, found, strict=True))])
            rewind()
    # Two logits may stray in opposite directions. A few rows that agree prove no exact arithmetic.
    threshold = max(_LEAST_THRESHOLD, 2 * _ROOM * stray)
    best[1], steady = min(times), _steady(times)
    if not steady:
        best[1] = usual = _usual(times)
        for width in (width for width in WIDTHS if width <= widest):
            presumed = usual * (1 + _PRESUMED_SLOPE * (width - 1))
            best[width] = min(presumed, best.get(width, presumed))
    return Calibration({w: s * 1e3 for w, s in best.items()}, threshold, steady)


def _steady(times: Sequence[float]) -> bool:
    return _usual(times) < _STEADY * min(times)


def _usual(times: Sequence[float]) -> float:
    return sorted(times)[int(_MOSTLY * len(times))]


def _timed(decode: Callable[[Sequence[int]], None], tokens: Sequence[int]) -> float:
    started = time.perf_counter()
    decode(tokens)
    return time.perf_counter() - started
