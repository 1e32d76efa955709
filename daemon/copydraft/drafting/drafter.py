"""The drafter of one request: sources side by side, one draft a pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from copydraft.drafting import corpus, suffix
from copydraft.drafting.candidate import Candidate, magnitude, rivalry
from copydraft.drafting.corpus import CorpusSearch
from copydraft.drafting.edit_cursor import EditCursor
from copydraft.drafting.policy import Policy
from copydraft.drafting.quoted import QuotedText
from copydraft.index.session import DEPTH, SessionIndex
from copydraft.tokens import NO_DRAFT, Document, Draft, Quotation

_FOLLOWED = ("prediction", "region")
"""Corpora whose text the answer is expected to rewrite from start to end."""

_MOST_MISSES = 4
"""Passes in a row without an accepted token: the model writes something new."""

_SURE_RUN = 4
"""Where the session's own match is this long, the corpora are not asked."""


_NOTHING_WRITTEN = Document("session", "", "output", ())


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
    """Drafts copied from documents, from the output itself, and from what `search` finds."""

    def __init__(
        self,
        documents: Sequence[Document],
        policy: Policy,
        search: CorpusSearch | None = None,
        *,
        output: Document = _NOTHING_WRITTEN,
        quotations: Sequence[Quotation] = (),
    ) -> None:
        """`output` is what stands right before the first token to be written, if anything does.

        `quotations`: how the answer may quote what it then writes anew.
        """
        self._documents = [*documents, output]
        self._policy = policy
        self._cursors = [EditCursor(d) for d in documents if d.corpus in _FOLLOWED]
        self._quoted = QuotedText(quotations)
        self._index = SessionIndex(documents, output.tokens)
        self._search = search
        self._tail = list(output.tokens[-DEPTH:])
        self._misses = 0

    def propose(self, limit: int) -> Draft:
        chosen = self._policy.choose(self._candidates(self._policy.longest(limit)))
        return Draft(chosen.tokens, chosen.corpus, chosen.path) if chosen else NO_DRAFT

    def written(self, tokens: Sequence[int], accepted: int) -> None:
        self._policy.learn(tokens, accepted)
        self._misses = 0 if accepted else self._misses + 1
        for cursor in self._cursors:
            cursor.append(tokens)
        self._quoted.append(tokens)
        self._index.append(tokens)
        if self._search is not None:
            self._tail = [*self._tail, *tokens][-DEPTH:]

    def _candidates(self, limit: int) -> list[Candidate]:
        """What each source offers, with what is known only beside the others."""
        if limit <= 0:
            return []
        quoted = [self._quoted.cursor] if self._quoted.cursor else []
        cursors = [cursor.candidate(limit) for cursor in (*self._cursors, *quoted)]
        match = suffix.candidate(self._index, self._documents, limit)
        followed = max(cursors, key=lambda cursor: cursor.run, default=None)
        pairs = [(cursor, match) for cursor in cursors]
        if match is not None:
            pairs.append((match, followed))
        found = self._found(max((one.run for one, _ in pairs), default=0), limit)
        if found is not None:
            pairs.append((found, match or followed))
        return [self._known(one, rival) for one, rival in pairs if one.tokens]

    def _found(self, run: int, limit: int) -> Candidate | None:
        """What the corpora offer, where the session's best match is a `run` that leaves doubts."""
        if self._search is None or run >= _SURE_RUN:
            return None
        return corpus.candidate(self._search, self._tail, limit)

    def _known(self, candidate: Candidate, rival: Candidate | None) -> Candidate:
        source, run = candidate.source, magnitude(candidate.run)
        rivals = rivalry(candidate, rival if rival and rival.tokens else None)
        traits = (
            f"{source} misses {magnitude(self._misses, _MOST_MISSES)}",
            f"{source} {rivals}",
            f"{source} {rivals} {run}",
        )
        return candidate._replace(traits=candidate.traits + traits)
