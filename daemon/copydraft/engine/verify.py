"""Accept the drafted tokens that the target picks itself, and no others.

Exact for drafts that are fixed before the target's pick (Leviathan, Kalman, Matias 2023 with a
draft distribution of one token): greedy text is the target's own, sampled text is drawn from the
target's own distribution with one draw per token written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from copydraft.engine.sampling import Pick


class Verified(NamedTuple):
    """What one pass wrote: the accepted draft, then the target's own next token.

    `tokens` and `margins` have one entry per token written, `accepted` counts the drafted ones
    among them. After a near tie, the target's own token is missing: it must be decoded anew.
    """

    tokens: list[int]
    margins: list[float]
    accepted: int
    near_tie: bool


def verify(
    draft: Sequence[int],
    pick: Callable[[int], Pick],
    end_tokens: frozenset[int],
    *,
    tie_threshold: float = 0.0,
) -> Verified:
    """Compare a draft with the picks from rows 0 … len(draft) of the pass, made one by one.

    Row i predicts the token at draft position i; the last row predicts the one after the draft.
    With a `tie_threshold` above 0, a pick that leads by less is not believed (strict mode).
    """
    tokens: list[int] = []
    margins: list[float] = []
    for row in range(len(draft) + 1):
        token, margin = pick(row)
        if margin < tie_threshold:
            return Verified(tokens, margins, row, near_tie=True)
        tokens.append(token)
        margins.append(margin)
        if row == len(draft) or token != draft[row]:
            return Verified(tokens, margins, row, near_tie=False)
        if token in end_tokens:
            return Verified(tokens, margins, row + 1, near_tie=False)
    raise AssertionError("the last row always returns")
