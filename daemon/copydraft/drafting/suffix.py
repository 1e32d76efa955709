"""Propose what followed the longest match of the latest output in the session.

Longest match first; among places with equal matches the token that most of them continue with,
then the most recent place. (Prompt lookup, Saxena 2023, takes the first or last match of a fixed
length; SuffixDecoding, Oliaro et al. 2024, counts continuations in a tree.)
"""

from __future__ import annotations

from copydraft.drafting.candidate import Candidate
from copydraft.drafting.voting import elect
from copydraft.index.session import SessionIndex
from copydraft.tokens import Document

SOURCE = "suffix"

_MOST_MATCHES = 8


def candidate(index: SessionIndex, documents: list[Document], limit: int) -> Candidate | None:
    """The best continuation by the session; None where nothing matches.

    `documents` are the ones that the index was made of, then one for the output.
    """
    matches = index.longest_matches(_MOST_MATCHES)
    if not matches:
        return None
    match, share = elect(sorted(matches, key=lambda match: -match.position))
    tokens = index.following(match, limit)
    document = documents[match.document]
    return Candidate(
        SOURCE,
        match.length,
        tokens,
        document.corpus,
        document.path,
        (f"{SOURCE} agree {share}",),
    )
