"""The chance that a copy goes on, learned as it is used.

A logistic regression: the log-odds that the next token is right, given that all before it were,
are the weight of (source, length of the run so far) plus the weights of what else is known of the
candidate. Weights are learned by stochastic gradient ascent on the likelihood, at a constant rate,
so that old observations fade. Whatever was written judges every candidate that was on offer,
drafted or not: nothing needs to be tried out, and no habit can lock itself in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from math import exp

from copydraft.drafting.candidate import Candidate, magnitude

_RATE = 0.03


class Survival:
    """Weights by name, from a profile or from nothing (even odds)."""

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        self._weights = defaultdict(float, weights or {})

    @property
    def weights(self) -> dict[str, float]:
        return dict(self._weights)

    def chances(self, candidate: Candidate) -> list[float]:
        """For each token of the candidate: the chance that it is right, if those before are."""
        known = sum(map(self._weights.__getitem__, candidate.traits))
        chances: list[float] = []
        for name, count in _stretches(candidate.source, candidate.run, len(candidate.tokens)):
            chances += [_probability(known + self._weights[name])] * count
        return chances

    def learn(self, candidate: Candidate, accepted: int, judged: int) -> None:
        """Of the first `judged` tokens the first `accepted` were right, and the next one wrong."""
        weights = self._weights
        known = sum(map(weights.__getitem__, candidate.traits))
        change = 0.0
        right = accepted
        judged = min(judged, accepted + 1)
        for name, count in _stretches(candidate.source, candidate.run, judged):
            surplus = min(right, count) - count * _probability(known + weights[name])
            weights[name] += _RATE * surplus
            change += _RATE * surplus
            right -= count
        for trait in candidate.traits:
            weights[trait] += change


@lru_cache(4096)
def _stretches(source: str, run: int, count: int) -> list[tuple[str, int]]:
    """`count` tokens after a run, grouped by the weight of their run: names and lengths."""
    groups = []
    while count > 0:
        size = magnitude(run)
        # The next magnitude begins at 2 ** size; the last one has no end.
        length = min(count, (1 << size) - run) if size < _LAST else count
        groups.append((f"{source} run {size}", length))
        run += length
        count -= length
    return groups


_LAST = magnitude(1 << 30)


def _probability(log_odds: float) -> float:
    return 1.0 / (1.0 + exp(-min(max(log_odds, -20.0), 20.0)))
