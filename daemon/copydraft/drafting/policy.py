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

_PROBE_EVERY = 64
"""Passes without a draft before one token is tried, so that "never" can be unlearned."""

# Chance that a copy goes on, by source, after runs of 0, 1, 2-3, 4-7, 8-15, 16-31, 32+ tokens:
# replayed on the development edits (shared/drafting.md, section 2).
_PRIOR = {
    "cursor": (0.16, 0.40, 0.60, 0.80, 0.92, 0.97, 0.985),
    "suffix": (0.05, 0.30, 0.45, 0.60, 0.80, 0.90, 0.95),
}
_LAST_BUCKET = 6
_LONGEST = 256
"""Runs are told apart up to here; all from 32 on share a bucket anyway."""


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
        # Spread out by length of the run: reading is on the path of every pass.
        self._chances = {
            source: [prior[_bucket(run)] for run in range(_LONGEST)]
            for source, prior in _PRIOR.items()
        }

    def chances(self, source: str, run: int, count: int) -> list[float]:
        """The chance of each of the next `count` tokens, given that those before were right."""
        start = min(run, _LONGEST - count)
        return self._chances[source][start : start + count]

    def learn(self, source: str, run: int, accepted: int, judged: int) -> None:
        """Of `judged` tokens after a run, the first `accepted` were right, the next one wrong."""
        chances = self._chances[source]
        for i in range(min(accepted + 1, judged)):
            bucket = _bucket(run + i)
            first, end = _runs(bucket)
            old = chances[first]
            new = old + _RATE * ((1.0 if i < accepted else 0.0) - old)
            chances[first:end] = [new] * (end - first)


class Policy:
    """Chooses by a cost table (index 0: a pass of width 1, cost 1) and survival tables."""

    def __init__(self, costs: Sequence[float], survival: Survival) -> None:
        self._after_first = costs[1:]
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

    def learn(self, candidate: Candidate, accepted: int, judged: int) -> None:
        """Of the candidate's first `judged` tokens the first `accepted` were right."""
        self._survival.learn(candidate.source, candidate.run, accepted, judged)

    def _best_length(self, candidate: Candidate) -> tuple[int, float]:
        count = min(len(candidate.tokens), len(self._after_first))
        best, best_rate = 0, 1.0
        reached, expected = 1.0, 1.0
        chances = self._survival.chances(candidate.source, candidate.run, count)
        steps = zip(chances, self._after_first, strict=False)
        for length, (chance, cost) in enumerate(steps, start=1):
            reached *= chance
            expected += reached
            if expected > best_rate * cost:
                best, best_rate = length, expected / cost
        return best, best_rate


def _bucket(run: int) -> int:
    return min(run.bit_length(), _LAST_BUCKET)


def _runs(bucket: int) -> tuple[int, int]:
    """The lengths [first, end) that share a bucket."""
    first = 1 << (bucket - 1) if bucket else 0
    return first, _LONGEST if bucket == _LAST_BUCKET else max(1, 2 * first)
