"""llama.cpp's `ngram-simple`: up to 48 tokens that followed the latest occurrence of a 12-gram.

The rule of `common_ngram_simple_draft` (llama.cpp, common/ngram-map.cpp): the n-gram is the
text's last 12 tokens; occurrences that overlap the text's end too far, the one at place 0, and
a latest occurrence with fewer than 12 tokens behind it give nothing. The token sampled last is
not yet part of the history that is copied from.
"""

from __future__ import annotations

from collections.abc import Sequence

from copydraft.tokens import NO_DRAFT, Draft


class NgramSimple:
    """`key` tokens are looked up, `length` drafted, llama.cpp's defaults for both."""

    def __init__(self, prompt: Sequence[int], *, key: int = 12, length: int = 48) -> None:
        self._text: list[int] = []
        self._key = key
        self._length = length
        self._latest: dict[tuple[int, ...], int] = {}
        self.written(prompt, 0)

    def propose(self, limit: int) -> Draft:
        history = len(self._text) - 1
        if history <= self._key + self._length + 1:
            return NO_DRAFT
        place = self._latest.get(tuple(self._text[-self._key :]))
        if place is None:
            return NO_DRAFT
        start = place + self._key
        length = min(self._length, history - start)
        if length < self._key:
            return NO_DRAFT
        return Draft(self._text[start : start + min(length, limit)], "session", "")

    def written(self, tokens: Sequence[int], accepted: int) -> None:  # noqa: ARG002  # the protocol's
        for token in tokens:
            self._text.append(token)
            place = len(self._text) - self._key - 2
            if place > 0:
                self._latest[tuple(self._text[place : place + self._key])] = place
