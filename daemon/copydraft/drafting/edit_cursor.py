"""Follow the text being edited while the model copies it, and find the place again after a change.

The cursor stands in a document whose rewriting is expected (the region, or a prediction of it).
While the output equals the document, the cursor moves along. Where they part, the next place is
looked for at or after the last sure one: the place whose preceding tokens match the latest output
longest, the nearest of equals. That covers text inserted (the old place again), deleted (a later
place) and replaced (one token further, where nothing matches). A chance match may have led too far
ahead; so a place before the last sure one is taken if it matches longer than any after it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from copydraft.drafting.candidate import Candidate, magnitude
from copydraft.tokens import Document

SOURCE = "cursor"

_SURE_RUN = 4
"""A run this long makes a place the last sure one."""

_OPENING_RUN = 8
"""The format forces the answer's first tokens: as sure as a run of this length."""

_MOST_PLACES = 64
"""Places tried for a new alignment on either side of the last sure one, nearest first."""

_BACK_RUN = 3
"""Shortest match that leads back before the last sure place."""

_DEPTH = 32
"""Longest match that is told apart."""

_MOST_CHANGES = 2
"""Once the copy has parted from the document and come back, more changes are less likely."""


class EditCursor:
    """A cursor over one document. Cost per token: constant on the path, a short search off it."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._tokens = list(document.tokens)
        self._output: list[int] = []
        self._place = 0
        self._run = _OPENING_RUN
        self._sure = 0
        self._changes = 0
        self._changed_at = 0
        self._places: dict[int, list[int]] = {}
        for index, token in enumerate(self._tokens):
            self._places.setdefault(token, []).append(index + 1)

    def append(self, tokens: Iterable[int]) -> None:
        for token in tokens:
            self._output.append(token)
            if self._place < len(self._tokens) and self._tokens[self._place] == token:
                self._place += 1
                self._run += 1
            else:
                self._align(token)
            if self._run >= _SURE_RUN:
                self._sure = self._place

    def candidate(self, limit: int) -> Candidate:
        traits: tuple[str, ...] = (f"{SOURCE} changes {min(self._changes, _MOST_CHANGES)}",)
        if self._changes:
            since = magnitude(len(self._output) - self._changed_at)
            traits = (*traits, f"{SOURCE} since change {since}")
        tokens = self._tokens[self._place : self._place + limit]
        return Candidate(
            SOURCE, self._run, tokens, self._document.corpus, self._document.path, traits
        )

    def _align(self, token: int) -> None:
        self._changes += 1
        self._changed_at = len(self._output) - 1
        places = self._places.get(token, [])
        first = bisect_left(places, self._sure)
        ahead = self._longest(places[first : first + _MOST_PLACES])
        back = self._longest(places[max(0, first - _MOST_PLACES) : first][::-1])
        if back is not None and back[1] >= _BACK_RUN and (ahead is None or back[1] > ahead[1]):
            self._place, self._run = back
            self._sure = self._place
        else:
            self._place, self._run = ahead or (self._place + 1, 0)

    def _longest(self, places: Iterable[int]) -> tuple[int, int] | None:
        """The first of the places that match longest, and its match."""
        best = None
        for place in places:
            length = self._matched(place)
            if best is None or length > best[1]:
                best = (place, length)
        return best

    def _matched(self, place: int) -> int:
        """How many tokens before `place` equal the end of the output, `_DEPTH` at most."""
        length = 0
        longest = min(place, len(self._output), _DEPTH)
        while length < longest and self._tokens[place - 1 - length] == self._output[-1 - length]:
            length += 1
        return length
