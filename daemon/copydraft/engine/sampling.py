"""How the target picks the next token from its logits: one pick for every token written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from copydraft.protocol import Sampling
    from copydraft.tokens import Tokenizer


class Pick(NamedTuple):
    """A token, and by how much it won: how far other arithmetic may stray without changing it."""

    token: int
    margin: float


class Picker(Protocol):
    """Called for each token written, in order; again after a near tie in strict mode (`verify`)."""

    def pick(self, logits: NDArray[np.float32], position: int, /) -> Pick:
        """The token at `position` of the answer, from 0, by one float per token of the vocabulary.

        `logits` is left as it was.
        """
        ...


class Beginning:
    """Picks the tokens that spell out a given beginning, and freely once it is written.

    So a text can be gone on with inside of a token: what stood of the token is taken out of the
    prompt, and is the beginning ("token healing", Lundberg 2023). Tokens that spell it are looked
    for among the likeliest; where none is, the tokenizer's own is taken. No pick can be made again
    before the beginning is written.
    """

    def __init__(self, picker: Picker, text: str, tokenizer: Tokenizer) -> None:
        self._picker = picker
        self._left = text.encode("utf-8", "surrogatepass")
        self._tokenizer = tokenizer

    def pick(self, logits: NDArray[np.float32], position: int, /) -> Pick:
        if not self._left:
            return self._picker.pick(logits, position)
        count = min(_LOOKED_AT, len(logits))
        likeliest = np.argpartition(logits, -count)[-count:]
        own = self._tokenizer.encode(self._left.decode("utf-8", "replace"))[:1]
        allowed = [int(token) for token in (*likeliest, *own) if self._spells(int(token))]
        if not allowed:
            # A cut inside of a character: nothing is known to spell the rest.
            self._left = b""
            return self._picker.pick(logits, position)
        only = np.full_like(logits, _NEVER)
        only[allowed] = logits[allowed]
        pick = self._picker.pick(only, position)
        self._left = self._left[len(self._tokenizer.piece(pick.token)) :]
        return pick

    def _spells(self, token: int) -> bool:
        piece = self._tokenizer.piece(token)
        return bool(piece) and (piece.startswith(self._left) or self._left.startswith(piece))


_LOOKED_AT = 256

_NEVER = -1e9
"""A logit that is never picked; its distance from others is still a number."""

_TOP = 8

_ROWS = 64

_MANY = 64

_TINY = 1e-12

_GOLDEN = 0x9E3779B97F4A7C15
"""2^64 by the golden ratio: SplitMix64's step."""


class Recorder:
    """Passes picks on, and keeps the likeliest ids of each position, likeliest first."""

    def __init__(self, picker: Picker) -> None:
        self.top8: list[list[int]] = []
        self._picker = picker

    def pick(self, logits: NDArray[np.float32], position: int, /) -> Pick:
        top = np.argpartition(logits, -_TOP)[-_TOP:]
        del self.top8[position:]  # a near tie that is picked anew
        self.top8.append([int(i) for i in top[np.argsort(-logits[top])]])
        return self._picker.pick(logits, position)


class Greedy:
    """The likeliest token; the margin is its lead over the second, in logits."""

    def pick(self, logits: NDArray[np.float32], _: int, /) -> Pick:
        best = int(logits.argmax())
        top = logits[best]
        logits[best] = -np.inf
        second = logits.max()
        logits[best] = top
        return Pick(best, float(top - second))


class Sampled:
    """One draw among the tokens that `survivors` leaves, by the Gumbel-max trick (Gumbel 1954).

    The token with the greatest logit / temperature + noise is a draw from the softmax. The noise is
    a number of its own for each seed, position and token, whatever else may be drawn and in which
    order: so arithmetic that strays a little changes a draw only where two sums are almost equal,
    as it changes a greedy pick. Margins are in logits, as of `Greedy`.
    """

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling

    def pick(self, logits: NDArray[np.float32], position: int, /) -> Pick:
        temperature = self._sampling.temperature
        ids, sure = survivors(logits, self._sampling)
        noisy = logits[ids].astype(np.float64) + temperature * noise(
            self._sampling.seed, position, ids
        )
        best = int(noisy[sure > 0].argmax())
        # Another token is drawn if it comes to the front and, where it is out, comes in.
        rivals = np.maximum(noisy[best] - noisy, -sure)
        rivals[best] = sure[best]
        margin = float(rivals.min())
        if len(ids) < len(logits):
            margin = min(margin, float(-sure[-1]))  # what was not looked at is still further out
        return Pick(int(ids[best]), margin)


def survivors(
    logits: NDArray[np.float32], sampling: Sampling
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Tokens by llama.cpp's top-k, top-p and min-p in this order, and how sure each is in or out.

    Returns ids, likeliest first, all that are in and some that are not; and for each by how many
    logits the decision was made: above 0 where it is in, below where it is out.
    """
    ids = _considered(logits, sampling)
    values = logits[ids].astype(np.float64)
    sure = np.full(len(ids), np.inf)
    most = sampling.top_k if 0 < sampling.top_k < len(ids) else len(ids)
    sure[most:] = values[most:] - values[most - 1]
    if sampling.top_p < 1:
        shares = np.exp(values - values[0])
        shares[most:] = 0.0
        before = np.concatenate(([0.0], np.cumsum(shares)[:-1])) / shares.sum()
        before = np.minimum(before, 1.0)  # rounding
        before[most:] = before[most - 1]
        # Where logits stray by so much from one another, so much does the log odds of a share.
        sure = np.minimum(
            sure, _log_odds(np.float64(max(sampling.top_p, _TINY))) - _log_odds(before)
        )
    if sampling.min_p > 0:
        sure = np.minimum(sure, values - (values[0] + np.log(sampling.min_p)))
    sure[0] = np.inf
    # Whatever the rules, the last that is in and the first that is not change places when they tie.
    inside = int(np.count_nonzero(sure > 0))
    if inside < len(ids):
        sure[:inside] = np.minimum(sure[:inside], values[:inside] - values[inside])
        sure[inside:] = np.maximum(sure[inside:], values[inside:] - values[inside - 1])
    if sampling.min_p > 0 and inside > 1:
        sure[0] = min(sure[0], values[0] - values[1] - np.log(sampling.min_p))
    # So do two that are in, or two that are out. Of many, the least sure stands for all.
    if inside <= _MANY:
        sure[:inside] = _swapped(sure[:inside], values[:inside])
    else:
        sure[:inside] = sure[inside - 1]
    if inside < len(ids):
        near = slice(inside, inside + _MANY)
        sure[near] = -_swapped(-sure[near][::-1], -values[near][::-1])[::-1]
        sure[inside + _MANY :] = sure[inside]
    sure[:inside] = np.maximum(sure[:inside], _TINY)  # in, though it ties
    return ids, sure


def _swapped(sure: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """How sure each is, given that it may change places with one behind it, and then is as sure."""
    both = np.maximum(sure[None, :], values[:, None] - values[None, :])
    both[np.tri(len(sure), dtype=bool)] = np.inf
    least: NDArray[np.float64] = np.minimum(sure, both.min(axis=1))
    return least


def _considered(logits: NDArray[np.float32], sampling: Sampling) -> NDArray[np.intp]:
    """Ids of all tokens that may be in, and of as many others, likeliest first."""
    count = 2 * sampling.top_k
    columns = len(logits) // _ROWS
    if not 0 < count < columns:
        return np.argsort(-logits, kind="stable")
    # To sort all takes 100 times as long. In `count` columns the greatest logit is at least this
    # one, so there are that many logits which are.
    greatest = logits[: _ROWS * columns].reshape(_ROWS, columns).max(axis=0)
    found = np.flatnonzero(logits >= np.partition(greatest, -count)[-count])
    return found[np.argsort(-logits[found], kind="stable")][:count]


def _log_odds(share: NDArray[np.float64] | np.float64) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.log(share) - np.log1p(-share)


def noise(seed: int, position: int, tokens: NDArray[np.intp]) -> NDArray[np.float64]:
    """Gumbel noise for each token: a hash of all three (SplitMix64: Steele, Lea, Flood 2014)."""
    bits = tokens.astype(np.uint64)
    for number in (position, seed):
        bits = _mixed(bits + np.uint64((number + 1) * _GOLDEN % 2**64))
    uniform = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
    return -np.log(-np.log(uniform))


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
