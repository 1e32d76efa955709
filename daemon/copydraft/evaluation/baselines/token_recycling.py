"""Token Recycling: a tree of the tokens that the model held likely after each token before.

Luo et al. 2024 (arXiv 2408.08696): a matrix keeps, for every token, the model's eight likeliest
next tokens when it was last read; a static tree of nodes (rank of the child at each step, chosen
by how often such paths are right) is filled from it, starting at the last token, and verified in
one pass. The matrix is kept from request to request.

Two things are less than in the paper, since a trace does not have them: the model's tokens after
the prompt's tokens, and those after refused nodes.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from copydraft.evaluation.baselines.tree import TreeDraft
from copydraft.tokens import NO_DRAFT, Draft

Matrix = dict[int, list[int]]

_SHARES = (0.40, 0.10, 0.06, 0.04, 0.03, 0.02, 0.015, 0.01)
"""How often the token of a rank comes next, as replayed on recorded answers."""


class TokenRecycling:
    """One request; `top8[i]` are the likeliest tokens after the i-th of the output."""

    def __init__(self, last: int, top8: Sequence[list[int]], matrix: Matrix, *, nodes: int) -> None:
        """`last` is the prompt's last token."""
        self._last = last
        # Nothing is recorded of the prompt's last token.
        self._likely = [[], *top8]
        self._matrix = matrix
        self._tree = static_tree(nodes)
        self._written = 0

    def propose(self, limit: int) -> Draft | TreeDraft:
        tokens: list[int] = []
        parents: list[int] = []
        placed: dict[tuple[int, ...], int] = {(): -1}
        for path in self._tree[:limit]:
            parent = placed.get(path[:-1])
            if parent is None:
                continue
            likely = self._matrix.get(tokens[parent] if parent >= 0 else self._last, [])
            if path[-1] < len(likely):
                placed[path] = len(tokens)
                tokens.append(likely[path[-1]])
                parents.append(parent)
        return TreeDraft(tokens, parents, "recycled", "") if tokens else NO_DRAFT

    def written(self, tokens: Sequence[int], accepted: int) -> None:  # noqa: ARG002  # the protocol's
        # What the model holds likely after the last token written is known a pass later.
        read = (self._last, *tokens[:-1])
        for token, likely in zip(read, self._likely[self._written :], strict=False):
            if likely:
                self._matrix[token] = likely
        self._written += len(tokens)
        self._last = tokens[-1]


def static_tree(nodes: int) -> list[tuple[int, ...]]:
    """Paths of ranks from the root, the likeliest `nodes` of them, parents before children."""
    tree: list[tuple[int, ...]] = []
    heap: list[tuple[float, tuple[int, ...]]] = [
        (-share, (rank,)) for rank, share in enumerate(_SHARES)
    ]
    heapq.heapify(heap)
    while len(tree) < nodes:
        weight, path = heapq.heappop(heap)
        tree.append(path)
        for rank, share in enumerate(_SHARES):
            heapq.heappush(heap, (weight * share, (*path, rank)))
    return tree
