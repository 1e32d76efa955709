"""The drafter of one request: sources side by side, one draft a pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from copydraft.drafting import suffix
from copydraft.drafting.edit_cursor import EditCursor
from copydraft.drafting.policy import Candidate, Policy
from copydraft.index.session import SessionIndex
from copydraft.tokens import NO_DRAFT, Document, Draft

_FOLLOWED = ("prediction", "region")
"""Corpora whose text the answer is expected to rewrite from start to end."""


class Drafter(Protocol):
    """Called in turns: a proposal, then what the pass wrote."""

    def propose(self, limit: int) -> Draft:
        """At most `limit` tokens to follow the output; `NO_DRAFT` where none are worth it."""
        ...

    def written(self, tokens: Sequence[int], accepted: int) -> None:
        """A pass wrote `tokens`, the first `accepted` of them as proposed."""
        ...


class NoDrafter:
    """Plain decoding."""

    def propose(self, limit: int) -> Draft:  # noqa: ARG002  # the protocol's
        return NO_DRAFT

    def written(self, tokens: Sequence[int], accepted: int) -> None:
        pass


class CopyDrafter:
    """Drafts copied from documents and from the output itself."""

    def __init__(self, documents: Sequence[Document], policy: Policy) -> None:
        self._documents = [*documents, Document("session", "", "output", ())]
        self._policy = policy
        self._cursors = [EditCursor(d) for d in documents if d.corpus in _FOLLOWED]
        self._index = SessionIndex(documents)
        self._proposed: Candidate | None = None

    def propose(self, limit: int) -> Draft:
        self._proposed = None
        if limit > 0:
            candidates = [cursor.candidate(limit) for cursor in self._cursors]
            if match := suffix.candidate(self._index, self._documents, limit):
                candidates.append(match)
            self._proposed = self._policy.choose(candidates)
        if self._proposed is None:
            return NO_DRAFT
        return Draft(self._proposed.tokens, self._proposed.corpus, self._proposed.path)

    def written(self, tokens: Sequence[int], accepted: int) -> None:
        if self._proposed is not None:
            # Every written token tells of one drafted token, right or wrong; those behind, nothing.
            judged = min(len(self._proposed.tokens), len(tokens))
            self._policy.learn(self._proposed, accepted, judged)
            self._proposed = None
        for cursor in self._cursors:
            cursor.append(tokens)
        self._index.append(tokens)
