"""The tokens of one pass, as numpy arrays that llama.cpp reads in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MAX_BATCH = 512
"""Most tokens in one pass: a chunk of prompt, or drafts of all sequences."""


class Feed(NamedTuple):
    """Tokens of one sequence to be decoded at `position`; logits wanted for the last `rows`."""

    sequence: int
    position: int
    tokens: Sequence[int]
    rows: int


class Batch:
    """Arrays of the shape (capacity,), filled anew for every pass."""

    def __init__(self, capacity: int) -> None:
        self.tokens = np.zeros(capacity, np.int32)
        self.positions = np.zeros(capacity, np.int32)
        self.sequence_counts = np.ones(capacity, np.int32)
        """Every token belongs to one sequence."""
        self._sequences = np.zeros(capacity, np.int32)
        self.sequence_pointers = self._sequences.ctypes.data + 4 * np.arange(
            capacity, dtype=np.intp
        )
        """Where the id of each token's sequence stands in memory."""
        self.wanted = np.zeros(capacity, np.int8)
        self.row_positions: list[int] = []
        """Position in the batch of each row of logits."""

    def fill(self, feeds: Sequence[Feed]) -> int:
        """Put all feeds behind one another; the number of tokens."""
        start = 0
        self.row_positions = []
        for feed in feeds:
            end = start + len(feed.tokens)
            first_row = end - feed.rows
            self.tokens[start:end] = feed.tokens
            self.positions[start:end] = np.arange(feed.position, feed.position + end - start)
            self._sequences[start:end] = feed.sequence
            self.wanted[start:first_row] = 0
            self.wanted[first_row:end] = 1
            self.row_positions.extend(range(first_row, end))
            start = end
        return start
