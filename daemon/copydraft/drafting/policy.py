"""From which source, and how many tokens: the most text for the time of a pass.

A pass over the last token and k drafted ones costs c(k + 1) and writes 1 + the accepted prefix.
With s(i) the chance that a copy goes on after i matched tokens, k drafted tokens bring
E(k) = s(r) + s(r) s(r+1) + … expected tokens after a run of r (Leviathan, Kalman, Matias 2023,
with an acceptance that depends on the run). The best k maximises (1 + E(k)) / c(k + 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

_RATE = 0.02
"""Weight of one observation: the tables follow the last fifty or so."""

_PROBE_EVERY = 32
"""Passes without a draft before one token is tried, so that "never" can be unlearned."""

# Chance that a copy goes on, by source, after runs of 0, 1, 2-3, 4-7, 8-15, 16-31, 32+ tokens:
# replayed on the development edits (shared/drafting.md, section 2).
_PRIOR = {
    "cursor": (0.16, 0.40, 0.60, 0.80, 0.92, 0.97, 0.985),
    "suffix": (0.05, 0.30, 0.45, 0.60, 0.80, 0.90, 0.95),
}
_BUCKETS = 7


class Candidate(NamedTuple):
    """A continuation on offer, after a run of `run` matched tokens."""

    source: str
    run: int
    tokens: Sequence[int]
    corpus: str
    path: str


class Survival:
    """The chance that a copy goes on, by source and length of the run, learned as it is used."""

    def __init__(self) -> None:
        self._chance = {source: list(chances) for source, chances in _PRIOR.items()}

    def chances(self, source: str, run: int, count: int) -> Iterable[float]:
        """The chance of each of the next `count` tokens, given that those before were right."""
        table = self._chance[source]
        return (table[_bucket(run + i)] for i in range(count))

    def learn(self, source: str, run: int, accepted: int, drafted: int) -> None:
        """Of `drafted` tokens after a run, the first `accepted` were right, the next one wrong."""
        table = self._chance[source]
        for i in range(min(accepted + 1, drafted)):
            bucket = _bucket(run + i)
            table[bucket] += _RATE * ((1.0 if i < accepted else 0.0) - table[bucket])


class Policy:
    """Chooses by a cost table (index 0: a pass of width 1, cost 1) and survival tables."""

    def __init__(self, costs: Sequence[float], survival: Survival) -> None:
        self._costs = costs
        self._survival = survival
        self._idle = 0

    def choose(self, candidates: Iterable[Candidate]) -> Candidate | None:
        """The candidate that brings most, cut to its best length; None where plain is faster."""
        best, best_rate = None, 1.0
        first = None
        for candidate in candidates:
            if not candidate.tokens:
                continue
            first = first or candidate
            length, rate = self._best_length(candidate)
            if rate > best_rate:
                best, best_rate = candidate._replace(tokens=candidate.tokens[:length]), rate
        if best is None and first is not None:
            self._idle += 1
            if self._idle >= _PROBE_EVERY:
                best = first._replace(tokens=first.tokens[:1])
        if best is not None:
            self._idle = 0
        return best

    def learn(self, candidate: Candidate, accepted: int) -> None:
        self._survival.learn(candidate.source, candidate.run, accepted, len(candidate.tokens))

    def _best_length(self, candidate: Candidate) -> tuple[int, float]:
        count = min(len(candidate.tokens), len(self._costs) - 1)
        best, best_rate = 0, 1.0
        reached, expected = 1.0, 1.0
        chances = self._survival.chances(candidate.source, candidate.run, count)
        for length, chance in enumerate(chances, start=1):
            reached *= chance
            expected += reached
            rate = expected / self._costs[length]
            if rate > best_rate:
                best, best_rate = length, rate
        return best, best_rate


def _bucket(run: int) -> int:
    return min(run.bit_length(), _BUCKETS - 1)
