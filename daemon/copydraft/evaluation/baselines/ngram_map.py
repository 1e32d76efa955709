"""llama.cpp's `ngram-map-k`: 48 tokens behind a 12-gram, fewer once a draft of it was refused.

The rule of `common_ngram_map_draft` with keys only (llama.cpp, common/ngram-map.cpp): a table
from n-grams to places, filled in batches from the newest place down, the first entry of an
n-gram stays; a place needs 48 tokens behind it. After a draft, its n-gram drafts at most as many
tokens as were then accepted. N-grams that begin among the prompt's last 60 tokens are never
entered. Hash collisions of the original, which only lose drafts, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from copydraft.tokens import NO_DRAFT, Draft


class NgramMapK:
    """`key` tokens are looked up, `length` drafted, llama.cpp's defaults for both."""

    def __init__(self, prompt: Sequence[int], *, key: int = 12, length: int = 48) -> None:
        self._text = list(prompt)
        self._prompt = len(prompt)
        self._key = key
        self._length = length
        self._places: dict[tuple[int, ...], int] = {}
        self._entered = 0
        self._most: dict[tuple[int, ...], int] = {}
        """Tokens accepted of the last draft, by n-gram."""
        self._drafted: tuple[int, ...] = ()

    def propose(self, limit: int) -> Draft:
        self._drafted = ()
        history = len(self._text) - 1
        if history < 2 * self._key + self._length:
            return NO_DRAFT
        self._enter(history)
        ngram = tuple(self._text[-self._key :])
        place = self._places.get(ngram)
        if place is None:
            return NO_DRAFT
        length = min(self._length, self._most.get(ngram, self._length), limit)
        if length == 0:
            return NO_DRAFT
        self._drafted = ngram
        start = place + self._key
        return Draft(self._text[start : start + length], "session", "")

    def written(self, tokens: Sequence[int], accepted: int) -> None:
        if self._drafted:
            self._most[self._drafted] = accepted
        self._text.extend(tokens)

    def _enter(self, history: int) -> None:
        behind = self._key + self._length + 1
        in_prompt = range(self._prompt - behind, self._entered, -1)
        in_output = range(history - behind, max(self._prompt, self._entered), -1)
        for place in (*in_prompt, *in_output):
            self._places.setdefault(tuple(self._text[place : place + self._key]), place)
        self._entered = max(self._entered, history - behind)
