"""A draft of several continuations at once, for peers that verify a tree of tokens in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from copydraft.tokens import Draft


class TreeDraft(NamedTuple):
    """Tokens, parents before children; `parents[i]` is the index of the token before, or -1.

    A pass over it is as wide as over a chain of as many tokens.
    """

    tokens: Sequence[int]
    parents: Sequence[int]
    corpus: str
    path: str


def accepted_length(draft: Draft | TreeDraft, rest: Sequence[int]) -> int:
    """How many tokens of `rest` the draft foresaw: along the chain, or along one branch."""
    if isinstance(draft, TreeDraft):
        return _along_branch(draft, rest)
    for count, (drafted, token) in enumerate(zip(draft.tokens, rest, strict=False)):
        if drafted != token:
            return count
    return min(len(draft.tokens), len(rest))


def _along_branch(draft: TreeDraft, rest: Sequence[int]) -> int:
    children = {
        (parent, token): index
        for index, (parent, token) in enumerate(zip(draft.parents, draft.tokens, strict=True))
    }
    at = -1
    for count, token in enumerate(rest):
        if (at, token) not in children:
            return count
        at = children[at, token]
    return len(rest)
