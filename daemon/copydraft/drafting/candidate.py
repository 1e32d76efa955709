"""A continuation on offer, and what is known of it that tells how far it may be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Candidate(NamedTuple):
    """A continuation, after a run of `run` tokens that matched what was written last."""

    source: str
    run: int
    tokens: Sequence[int]
    corpus: str
    path: str
    traits: tuple[str, ...] = ()
    """What else is known of it, by name; `survival` learns what each is worth."""


_LONGEST_RUN = 32
"""Runs are told apart in powers of two up to here: a longer one is no surer."""

_ALIKE = 16
"""Two continuations that share so many tokens are the same."""


def magnitude(count: int, most: int = _LONGEST_RUN) -> int:
    """0 for 0, 1 for 1, 2 for 2-3, 3 for 4-7 … up to the magnitude of `most`."""
    return min(count, most).bit_length()


def common_length(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens both begin with."""
    length = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        length += 1
    return length


def rivalry(candidate: Candidate, rival: Candidate | None) -> str:
    """How a candidate compares with that of the other source, in a word.

    Two that agree are surer than either; where they part, it matters which matched longer.
    """
    if rival is None:
        return "alone"
    shared = common_length(candidate.tokens[:_ALIKE], rival.tokens)
    told = "same" if shared == _ALIKE else "parting" if shared else "against"
    own, other = magnitude(candidate.run), magnitude(rival.run)
    return f"{told} {'longer' if own > other else 'shorter' if own < other else 'equal'}"
