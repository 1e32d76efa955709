"""The drafter that knows the answer: no other can be faster at the same costs and widths."""

from __future__ import annotations

from collections.abc import Sequence

from copydraft.tokens import NO_DRAFT, Draft


class Oracle:
    """Drafts the answer itself, cut into passes that cost least in all."""

    def __init__(self, answer: Sequence[int], costs: Sequence[float]) -> None:
        """`costs` of passes by width, relative to width 1, which is at index 0."""
        self._left = list(answer)
        self._widths = _cheapest_widths(len(answer), costs)

    def propose(self, limit: int) -> Draft:
        width = min(self._widths[len(self._left)], limit + 1)
        return Draft(self._left[: width - 1], "oracle", "") if width > 1 else NO_DRAFT

    def written(self, tokens: Sequence[int], accepted: int) -> None:  # noqa: ARG002  # the protocol's
        known = self._left[: len(tokens)] == list(tokens)
        self._left = self._left[len(tokens) :] if known else []


def _cheapest_widths(length: int, costs: Sequence[float]) -> list[int]:
    """By number of tokens left: the width of the pass that begins the cheapest way to the end."""
    total = [0.0]
    widths = [0]
    while len(total) <= length:
        rest = reversed(total[-len(costs) :])
        cost, width = min(
            (cost + after, width)
            for width, (cost, after) in enumerate(zip(costs, rest, strict=False), start=1)
        )
        total.append(cost)
        widths.append(width)
    return widths
