"""How the target picks the next token from its logits: one pick for every token written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from copydraft.tokens import Tokenizer


class Pick(NamedTuple):
    """A token, and by how much it won: how far other arithmetic may stray without changing it."""

    token: int
    margin: float


class Picker(Protocol):
    """Called once for each token written, in order.

    In strict mode a pick that leads by too little is thrown away and made again (`verify`): a
    picker that counts its picks may only be used there where nothing is drafted.
    """

    def pick(self, logits: NDArray[np.float32]) -> Pick:
        """The next token by `logits`, one float per token of the vocabulary."""
        ...


class Beginning:
    """Picks the tokens that spell out a given beginning, and freely once it is written.

    So a text can be gone on with inside of a token: what stood of the token is taken out of the
    prompt, and is the beginning ("token healing", Lundberg 2023). Tokens that spell it are looked
    for among the likeliest; where none is, the tokenizer's own is taken.
    """

    def __init__(self, picker: Picker, text: str, tokenizer: Tokenizer) -> None:
        self._picker = picker
        self._left = text.encode("utf-8", "surrogatepass")
        self._tokenizer = tokenizer

    def pick(self, logits: NDArray[np.float32]) -> Pick:
        if not self._left:
            return self._picker.pick(logits)
        count = min(_LOOKED_AT, len(logits))
        likeliest = np.argpartition(logits, -count)[-count:]
        own = self._tokenizer.encode(self._left.decode("utf-8", "replace"))[:1]
        allowed = [int(token) for token in (*likeliest, *own) if self._spells(int(token))]
        if not allowed:
            # A cut inside of a character: nothing is known to spell the rest.
            self._left = b""
            return self._picker.pick(logits)
        only = np.full_like(logits, _NEVER)
        only[allowed] = logits[allowed]
        pick = self._picker.pick(only)
        self._left = self._left[len(self._tokenizer.piece(pick.token)) :]
        return pick

    def _spells(self, token: int) -> bool:
        piece = self._tokenizer.piece(token)
        return bool(piece) and (piece.startswith(self._left) or self._left.startswith(piece))


_LOOKED_AT = 256

_NEVER = -1e9
"""A logit that is never picked; its distance from others is still a number."""

_TOP = 8


class Recorder:
    """Passes picks on, and keeps the likeliest ids of each position, likeliest first."""

    def __init__(self, picker: Picker) -> None:
        self.top8: list[list[int]] = []
        self._picker = picker

    def pick(self, logits: NDArray[np.float32]) -> Pick:
        top = np.argpartition(logits, -_TOP)[-_TOP:]
        self.top8.append([int(i) for i in top[np.argsort(-logits[top])]])
        return self._picker.pick(logits)


class Greedy:
    """The likeliest token; the margin is its lead over the second, in logits."""

    def pick(self, logits: NDArray[np.float32]) -> Pick:
        best = int(logits.argmax())
        top = logits[best]
        logits[best] = -np.inf
        second = logits.max()
        logits[best] = top
        return Pick(best, float(top - second))


class Sampled:
    """One draw among the tokens that the filter leaves.

    `survivors` maps logits to ids and probabilities, likeliest first (`filters.Filter`). The draw
    is a number in [0, 1), the same for the same seed and token, drafted or not; the margin is its
    distance from the nearest probability at which another token would have been drawn.
    """

    def __init__(
        self,
        survivors: Callable[[NDArray[np.float32]], tuple[NDArray[np.int32], NDArray[np.float64]]],
        seed: int,
    ) -> None:
        self._survivors = survivors
        self._random = np.random.default_rng(seed)

    def pick(self, logits: NDArray[np.float32]) -> Pick:
        ids, probabilities = self._survivors(logits)
        draw = float(self._random.random())
        upper = np.cumsum(probabilities)
        index = min(int(np.searchsorted(upper, draw, side="right")), len(ids) - 1)
        distances = [abs(draw - float(edge)) for edge in upper[max(0, index - 1) : index + 1]]
        # The last token's upper edge is 1, which no draw crosses.
        if index == len(ids) - 1:
            distances = distances[:-1]
        return Pick(int(ids[index]), min(distances, default=1.0))
