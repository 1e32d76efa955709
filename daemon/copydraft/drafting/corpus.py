"""Propose what followed the longest match of the latest output in the corpora beside the session.

Open documents, the workspace's files and the libraries they use. Among places with equal matches
the continuation that most of them have wins, then the nearer corpus: as `suffix` does for the
session. Documents are indexed as the answer's format prints them, each field by itself and up to
what closes it: an old text never drafts the path or the new text that stands behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from copydraft.drafting.candidate import Candidate
from copydraft.drafting.voting import elect
from copydraft.index.segment import Match

SOURCE = "corpus"

_MOST_MATCHES = 8

_SHOWN_AS = {"buffer": "workspace"}
"""To a user, an open document is a part of the workspace."""


class CorpusSearch(Protocol):
    """The corpora at one moment: what a drafter needs of `index.search.Search`."""

    def longest_matches(self, tail: Sequence[int], most: int) -> Sequence[Match]:
        """The places with the longest match of the end of `tail`, nearer corpora first."""
        ...

    def following(self, match: Match, count: int) -> Sequence[int]:
        """Up to `count` tokens from a match's place on, within its document."""
        ...


def candidate(search: CorpusSearch, tail: Sequence[int], limit: int) -> Candidate | None:
    """The best continuation by the corpora; None where nothing matches."""
    matches = search.longest_matches(tail, _MOST_MATCHES)
    if not matches:
        return None
    match, share = elect(matches)
    corpus = match.document.corpus
    return Candidate(
        SOURCE,
        match.length,
        search.following(match, limit),
        _SHOWN_AS.get(corpus, corpus),
        match.document.path,
        (f"{SOURCE} agree {share}", f"{SOURCE} from {corpus}"),
    )
