r"""The tokens of a text that is being typed in: only what a change can have reached is made anew.

Text is kept in pieces, cut where words end whatever stands around: before a blank that is followed
by a letter, or (by most pre-tokenizers) at a line that begins with no blank. No word goes
across such a cut, and what pre-tokenizers look ahead at is on the cut's other side at most by the
blank itself, so pieces can be tokenised one by one. A change reaches the pieces that it touches,
and their neighbours within the longest look-ahead or token with a text of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from copydraft.index.tokenizing import BulkTokenizer

_PIECE = 512
"""Characters of a piece, at least. The cost of a change is that of tokenising two or three."""

# Only letters behind the blank: digits and user-defined tokens are cut off first by some
# tokenizers, and all blanks before them are one word then.
_BLANK_CUT = re.compile(r" (?=[A-Za-z])")
_BLANK_OR_LINE_CUT = re.compile(r" (?=[A-Za-z])|(?<=\n)(?=[!-~])")

_CUT_SIGHT = 2
"""Characters behind a cut that make it one: without them, the pieces may be one word."""

_BLOCKS = (1 << 16, 1 << 12, 1 << 8, 1 << 4, 1)
"""Sizes of what is compared at once, when two texts are compared from an end on."""


class Buffer:
    """A text and its tokens: always those that the whole text would have at once."""

    def __init__(self, tokenizer: BulkTokenizer, text: str) -> None:
        self._tokenizer = tokenizer
        self._reach = tokenizer.reach
        self._cut = _BLANK_OR_LINE_CUT if tokenizer.cut_at_lines else _BLANK_CUT
        # Of each piece: its text, where it starts, and how many tokens it has. Lists of simple
        # values, since all of them are gone through at every change.
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self._counts: list[int] = []
        self.text = text
        self.tokens: NDArray[np.uint32] = np.empty(0, np.uint32)
        """Another array after every change; none is written to."""
        self._put(0, 0, text)

    def replace(self, start: int, end: int, new: str) -> None:
        """Put `new` in the place of the characters [start, end), which must be in the text."""
        self.text = self.text[:start] + new + self.text[end:]
        first, last = 0, len(self._pieces)
        if self._reach is not None:
            before = max(self._reach, _CUT_SIGHT)
            first = max(0, bisect_right(self._starts, start - before) - 1)
            last = bisect_left(self._starts, end + self._reach)
        offset = self._starts[first] if first < len(self._starts) else 0
        old = "".join(self._pieces[first:last])
        self._put(first, last, old[: start - offset] + new + old[end - offset :])

    def become(self, text: str) -> None:
        """Change to `text`, at the cost of the part that differs and a comparison."""
        start, end, new = change(self.text, text)
        if start < end or new:
            self.replace(start, end, new)

    def _put(self, first: int, last: int, text: str) -> None:
        """Put `text` in the place of the pieces [first, last)."""
        pieces = list(self._cut_up(text))
        made = self._tokenizer.encode_many(pieces)
        before = sum(self._counts[:first])
        behind = before + sum(self._counts[first:last])
        self.tokens = np.concatenate([self.tokens[:before], *made, self.tokens[behind:]])
        self._counts[first:last] = map(len, made)
        self._pieces[first:last] = pieces
        self._starts = [0, *accumulate(map(len, self._pieces))][: len(self._pieces)]

    def _cut_up(self, text: str) -> Iterator[str]:
        start = 0
        while self._reach is not None and (cut := self._cut.search(text, start + _PIECE)):
            yield text[start : cut.start()]
            start = cut.start()
        if start < len(text):
            yield text[start:]


def change(old: str, new: str) -> tuple[int, int, str]:
    """The one replacement (start, end, text) that makes `new` of `old`, as short as can be."""
    most = min(len(old), len(new))
    start = 0
    for block in _BLOCKS:
        while start + block <= most and old[start : start + block] == new[start : start + block]:
            start += block
    end, new_end = len(old), len(new)
    for block in _BLOCKS:
        while (
            min(end, new_end) - block >= start
            and old[end - block : end] == new[new_end - block : new_end]
        ):
            end, new_end = end - block, new_end - block
    return start, end, new[start:new_end]
