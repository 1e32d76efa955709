"""What a sequence's memory holds, and the only place that takes tokens back out of it.

llama.cpp's `seq_rm` may return true and be wrong (`shared/llama.md`), so it is asked only where
its answer can be believed:

* dense and sliding-window models (whole cache kept): always exact;
* recurrent and hybrid models with K snapshots: up to K tokens, fewer than the last pass decoded,
  once per pass;
* otherwise a saved state is loaded and the tokens after it are decoded again.

The memory of dense and recurrent models can be copied out whole and in again, and be rolled back
then as before; that of sliding-window models comes back without what is behind the window, and a
rollback would not tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from copydraft.errors import EngineProblem

MAX_CHECKPOINTS = 8
"""Saved states per sequence; each is as large as the model's recurrent state."""


class RollbackContext(Protocol):
    """What memory needs of `engine.llama.Context`."""

    @property
    def rollback_limit(self) -> int | None: ...
    @property
    def saves_all(self) -> bool: ...
    def remove(self, sequence: int, start: int) -> bool: ...
    def state_bytes(self, sequence: int, *, whole: bool = False) -> int: ...
    def save_state(self, sequence: int, *, whole: bool = False) -> bytearray: ...
    def load_state(self, sequence: int, state: bytearray, *, whole: bool = False) -> bool: ...


class _Checkpoint(NamedTuple):
    length: int
    state: bytearray


class Stash(NamedTuple):
    """All that a memory held."""

    tokens: list[int]
    state: bytearray
    checkpoints: list[_Checkpoint]

    @property
    def bytes(self) -> int:
        return len(self.state) + _bytes_of(self.checkpoints)


def _bytes_of(checkpoints: Sequence[_Checkpoint]) -> int:
    return sum(len(checkpoint.state) for checkpoint in checkpoints)


def common_length(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens at the start of both are the same."""
    shorter = min(len(one), len(other))
    if list(one[:shorter]) == list(other[:shorter]):
        return shorter
    return next(i for i in range(shorter) if one[i] != other[i])


class SequenceMemory:
    """Tokens of one sequence that are in memory, in order of their positions from 0."""

    def __init__(self, context: RollbackContext, sequence: int) -> None:
        self.sequence = sequence
        self._context = context
        self._tokens: list[int] = []
        self._last_pass = 0
        self._checkpoints: list[_Checkpoint] = []
        self._guard: _Checkpoint | None = None

    def __len__(self) -> int:
        return len(self._tokens)

    def common_prefix(self, tokens: Sequence[int]) -> int:
        """How many tokens at the start of `tokens` are in memory."""
        return common_length(self._tokens, tokens)

    def decoded(self, tokens: Sequence[int]) -> None:
        """Note that a pass put `tokens` behind the others."""
        self._tokens.extend(tokens)
        self._last_pass = len(tokens)

    def checkpoint(self) -> None:
        """Save a recurrent state to come back to; nothing where none is needed."""
        if self._context.rollback_limit is None or not self._tokens:
            return
        if self._checkpoints and self._checkpoints[-1].length == len(self):
            return
        del self._checkpoints[: 1 - MAX_CHECKPOINTS]
        self._checkpoints.append(self._saved())

    def guard(self) -> None:
        """Save the state before a pass that may be taken back whole, in place of the last such."""
        if self._context.rollback_limit is not None and self._tokens:
            self._guard = self._saved()

    def rollback(self, length: int) -> int:
        """Take back all tokens from position `length` on.

        Returns the length reached: less than `length` where only an earlier state was saved; the
        caller then decodes the tokens between again, as known text.

        Raises:
            EngineProblem: llama.cpp refused what its rules allow.
        """
        count = len(self) - length
        if count == 0:
            return length
        limit = self._context.rollback_limit
        if limit is None or (count <= limit and count < self._last_pass):
            self._cut(length)
        else:
            length = self._restore(length)
        self._forget_after(length)
        return length

    def recover(self) -> None:
        """After a pass that failed half-way: back to what was noted, or to a saved state."""
        if self._context.rollback_limit is None:
            self._cut(len(self))
        else:
            self._forget_after(self._restore(len(self)))

    def stash_bytes(self) -> int | None:
        """Size of what `stash` would copy; None where it would not be all."""
        if not self._context.saves_all:
            return None
        state = self._context.state_bytes(self.sequence, whole=True)
        return state + _bytes_of(self._checkpoints)

    def stash(self) -> Stash:
        """A copy of everything, to come back to after other text."""
        state = self._context.save_state(self.sequence, whole=True)
        return Stash(list(self._tokens), state, list(self._checkpoints))

    def unstash(self, stash: Stash) -> None:
        """Hold what was copied then, instead of what is there. One that is refused leaves nothing.

        Raises:
            EngineProblem: llama.cpp refused to clear the memory.
        """
        self.clear()
        if self._context.load_state(self.sequence, stash.state, whole=True):
            self._tokens = list(stash.tokens)
            self._checkpoints = list(stash.checkpoints)
        else:
            self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._cut(0)
        self._forget_after(0)

    def _saved(self) -> _Checkpoint:
        return _Checkpoint(len(self), self._context.save_state(self.sequence))

    def _forget_after(self, length: int) -> None:
        """Drop the states saved for text that is not there any more."""
        self._checkpoints = [c for c in self._checkpoints if c.length <= length]
        if self._guard is not None and self._guard.length > length:
            self._guard = None
        self._last_pass = 0

    def _restore(self, length: int) -> int:
        states = [*self._checkpoints, *([self._guard] if self._guard else [])]
        saved = max((c for c in states if c.length <= length), default=None)
        if saved is None:
            self._cut(0)
            return 0
        if not self._context.load_state(self.sequence, saved.state):
            raise EngineProblem("llama.cpp refused a state that it had saved", "run it again")
        self._cut(saved.length)
        return saved.length

    def _cut(self, length: int) -> None:
        # A whole sequence is removed from -1: that never fails, whatever state it is in.
        if not self._context.remove(self.sequence, length if length else -1):
            raise EngineProblem(f"llama.cpp refused to roll back to {length}", "run it again")
        del self._tokens[length:]
