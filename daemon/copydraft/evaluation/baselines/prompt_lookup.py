"""Prompt lookup: what followed the longest n-gram that the text ends with, a fixed length.

Saxena 2023 (github.com/apoorvumang/prompt-lookup-decoding), as in Hugging Face `transformers`
(`PromptLookupCandidateGenerator`) and in llama-cpp-python (`LlamaPromptLookupDecoding`): n-grams
of n tokens, then n - 1, … 1; the first occurrence of the longest that anything follows; drafts
end with the text. They rescan the text each time, this keeps a table; the drafts are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from copydraft.tokens import NO_DRAFT, Draft


class PromptLookup:
    """`recent` takes the last occurrence instead of the first."""

    def __init__(
        self, prompt: Sequence[int], *, longest: int, length: int = 10, recent: bool = False
    ) -> None:
        self._text: list[int] = []
        self._length = length
        self._recent = recent
        # By n - 1: where the text goes on after an n-gram.
        self._next: list[dict[tuple[int, ...], int]] = [{} for _ in range(longest)]
        self.written(prompt, 0)

    def propose(self, limit: int) -> Draft:
        for n in range(min(len(self._next), len(self._text) - 1), 0, -1):
            place = self._next[n - 1].get(tuple(self._text[-n:]))
            if place is not None:
                tokens = self._text[place : place + min(self._length, limit)]
                return Draft(tokens, "session", "")
        return NO_DRAFT

    def written(self, tokens: Sequence[int], accepted: int) -> None:  # noqa: ARG002  # the protocol's
        text = self._text
        for token in tokens:
            place = len(text)
            for n, places in enumerate(self._next[:place], start=1):
                ngram = tuple(text[place - n : place])
                if self._recent:
                    places[ngram] = place
                else:
                    places.setdefault(ngram, place)
            text.append(token)
