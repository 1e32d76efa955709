"""Text of one session, searchable for the longest match with what was written last.

Places are kept in the order of the text *before* them, read backwards: a suffix array of the
reversed text (Manber and Myers 1990), cut at `DEPTH` tokens. All places whose preceding text ends
like the output stand next to each other there, so the longest match is beside the spot where the
output's own end would be filed, found by binary search. Documents are filed at once by prefix
doubling in numpy, written tokens one by one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from copydraft.tokens import Document

DEPTH = 32
"""Longest match that is told apart; a longer one is no better sign of what follows."""


class Match(NamedTuple):
    """A place whose preceding `length` tokens are the last ones written."""

    length: int
    position: int
    document: int
    """Index of the document that the place is in; the output is the last one."""
    following: int
    """The token at the place."""


class SessionIndex:
    """Documents and, behind them, the output, which may have begun, as it is written."""

    def __init__(self, documents: Sequence[Document], output: Sequence[int] = ()) -> None:
        self._tokens: list[int] = []
        self._starts: list[int] = []
        texts = [*(document.tokens for document in documents), output]
        for number, tokens in enumerate(texts):
            # A separator that no token equals: no match and no draft crosses it.
            self._tokens.append(-1 - number)
            self._starts.append(len(self._tokens))
            self._tokens.extend(tokens)
        self._places = self._filed()

    def append(self, tokens: Iterable[int]) -> None:
        """Add written tokens, each filed under the text before it."""
        for token in tokens:
            place = len(self._tokens)
            key = self._before(place)
            self._places.insert(bisect_right(self._places, key, key=self._before), place)
            self._tokens.append(token)

    def longest_matches(self, most: int) -> list[Match]:
        """The places with the longest match, at most `most` of them; none if nothing matches.

        Every place has a next token, which may be a separator's only at a document's end; such
        places are left out. Cost: one binary search over the session.
        """
        key = self._before(len(self._tokens))
        at = bisect_left(self._places, key, key=self._before)
        left, right = at - 1, at
        left_length, right_length = self._common(left, key), self._common(right, key)
        found: list[Match] = []
        best = 1
        while len(found) < most:
            length = max(left_length, right_length)
            if length < best:
                break
            if left_length == length:
                place = self._places[left]
                left -= 1
                left_length = self._common(left, key)
            else:
                place = self._places[right]
                right += 1
                right_length = self._common(right, key)
            token = self._tokens[place]
            if token >= 0:
                best = length
                found.append(Match(length, place, bisect_right(self._starts, place) - 1, token))
        return found

    def following(self, match: Match, count: int) -> list[int]:
        """Up to `count` tokens from a match's place on, within its document."""
        later = self._starts[match.document + 1 : match.document + 2]
        end = match.position + count
        return self._tokens[match.position : min(end, later[0] - 1) if later else end]

    def _before(self, place: int) -> list[int]:
        """The tokens before a place, nearest first."""
        return self._tokens[place - 1 : place - 1 - DEPTH if place > DEPTH else None : -1]

    def _common(self, index: int, key: list[int]) -> int:
        """Length of the match between `key` and the text before a filed place; 0 outside."""
        if not 0 <= index < len(self._places):
            return 0
        before = self._before(self._places[index])
        if before == key:
            return len(key)
        length = 0
        for a, b in zip(before, key, strict=False):
            if a != b:
                break
            length += 1
        return length

    def _filed(self) -> list[int]:
        """Places 1 … n-1 in order of the text before them."""
        tokens = np.array(self._tokens, np.int64)
        # rank[p]: order of the `width` tokens before place p.
        _, rank = np.unique(np.concatenate(([tokens.min() - 1], tokens)), return_inverse=True)
        width = 1
        while width < DEPTH:
            earlier = np.zeros_like(rank)
            earlier[width:] = rank[:-width]
            _, rank = np.unique(rank * len(rank) + earlier, return_inverse=True)
            width *= 2
        order = np.argsort(rank[1:-1], kind="stable") + 1
        return [int(place) for place in order]
