"""Prompts that others have pushed out of the model's memory, kept outside of it to come back.

A user edits, is offered completions while typing, and asks on about an explanation: prompts that
begin differently take turns in the one sequence that there is memory for. To copy one out and in
again takes a thousandth of the time that reading it took (10 ms and 6 s for 1,500 tokens of
Qwen2.5-Coder-0.5B on two cores), and gives the very keys and values that were there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from copydraft.engine.memory import SequenceMemory, Stash, common_length

_LEAST_TOKENS = 128
"""Fewer are read again in no time."""

_MOST_PROMPTS = 8
"""More are not gone on with at a time, and would only take memory."""


class PrefixCache:
    """Keeps what a memory loses, a few prompts of up to `most_bytes` together.

    What was wanted longest ago goes first.
    """

    def __init__(self, memory: SequenceMemory, most_bytes: int) -> None:
        self._memory = memory
        self._most_bytes = most_bytes
        self._kept: list[Stash] = []

    def seek(self, tokens: Sequence[int]) -> None:
        """Have as much of the start of `tokens` in memory as there is anywhere."""
        here = self._memory.common_prefix(tokens)
        found = max(self._kept, key=lambda stash: common_length(stash.tokens, tokens), default=None)
        if found is not None and common_length(found.tokens, tokens) < here + _LEAST_TOKENS:
            found = None
        lost = len(self._memory) - here
        # A prompt that mostly goes on from what is there makes it useless to others.
        if found is not None and 2 * common_length(found.tokens, tokens) > len(found.tokens):
            # Else it stays for whoever wants the rest: prompts of a kind begin alike.
            self._kept.remove(found)
        if found is not None or lost > here:
            self._keep(lost)
        if found is not None:
            self._memory.unstash(found)

    def clear(self) -> None:
        """Keep nothing."""
        self._kept.clear()

    def _keep(self, lost: int) -> None:
        """Copy the memory, of which so many tokens would be lost."""
        if lost < _LEAST_TOKENS:
            return
        size = self._memory.stash_bytes()
        if size is None or size > self._most_bytes:
            return
        del self._kept[: 1 - _MOST_PROMPTS]
        while sum(stash.bytes for stash in self._kept) + size > self._most_bytes:
            del self._kept[0]
        with suppress(MemoryError):
            self._kept.append(self._memory.stash())
