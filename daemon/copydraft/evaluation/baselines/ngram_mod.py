"""llama.cpp's `ngram-mod` (its `--spec-default`): a table from 24 tokens' hash to the next token.

The rule of `common_speculative_impl_ngram_mod` (llama.cpp, common/speculative.cpp and
ngram-mod.cpp): one table of 4 M entries for all requests, a later entry replaces an earlier one
of the same slot, nothing tells a collision; the draft follows the table for up to 64 tokens and
counts only if it reaches 48; output is entered 32 tokens or more at a time; five drafts in a row
of which less than a quarter was accepted empty the table. (A table over a quarter full is
emptied too: replays are too short for that.)
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from copydraft.tokens import NO_DRAFT, Draft

_FACTOR = 6364136223846793005
_WORD = 2**64 - 1
_SLOTS = 4 * 1024 * 1024
_EMPTY = -1
_CHUNK = 32
_LOW_SHARE = 0.25
_MOST_LOW = 5


class ModTable:
    """The next token by the hash of `key` tokens; shared by the requests of a run."""

    def __init__(self, key: int = 24) -> None:
        self.key = key
        self.low = 0
        """Drafts in a row that were mostly refused."""
        self._next = array("i", [_EMPTY]) * _SLOTS
        self._last_power = pow(_FACTOR, key - 1, 2**64)

    def enter(self, text: Sequence[int]) -> None:
        """Enter every run of `key` tokens that another one follows."""
        if len(text) <= self.key:
            return
        tokens = np.array(text, np.uint64)
        count = len(text) - self.key
        hashes = np.zeros(count, np.uint64)
        for offset in range(self.key):
            hashes = hashes * np.uint64(_FACTOR) + tokens[offset : offset + count]
        slots = np.frombuffer(self._next, np.int32)
        # Of equal indices, numpy keeps the last assignment.
        slots[hashes % np.uint64(_SLOTS)] = tokens[self.key :]

    def follow(self, text: Sequence[int], most: int) -> list[int]:
        """Up to `most` tokens after the last `key` of `text`, until the table has no next one."""
        window = list(text[-self.key :])
        value = 0
        for token in window:
            value = (value * _FACTOR + token) & _WORD
        for first in range(most):
            token = self._next[value % _SLOTS]
            if token == _EMPTY:
                break
            window.append(token)
            value = ((value - window[first] * self._last_power) * _FACTOR + token) & _WORD
        return window[self.key :]

    def clear(self) -> None:
        self.low = 0
        np.frombuffer(self._next, np.int32)[:] = _EMPTY


class NgramMod:
    """One request over a shared table."""

    def __init__(
        self, prompt: Sequence[int], table: ModTable, *, least: int = 48, most: int = 64
    ) -> None:
        self._text = list(prompt)
        self._table = table
        self._least = least
        self._most = most
        self._drafted = 0
        table.enter(self._text)
        self._entered = max(0, len(prompt) - table.key)

    def propose(self, limit: int) -> Draft:
        self._drafted = 0
        history = len(self._text) - 1
        if history < self._table.key:
            return NO_DRAFT
        if self._entered + _CHUNK < history:
            self._table.enter(self._text[self._entered : history])
            self._entered = history - self._table.key
        tokens = self._table.follow(self._text, self._most)
        if len(tokens) < self._least:
            return NO_DRAFT
        self._drafted = len(tokens)
        return Draft(tokens[:limit], "session", "")

    def written(self, tokens: Sequence[int], accepted: int) -> None:
        self._text.extend(tokens)
        if self._drafted == 0:
            return
        self._table.low = self._table.low + 1 if accepted < _LOW_SHARE * self._drafted else 0
        if self._table.low >= _MOST_LOW:
            self._table.clear()
            self._entered = 0
