"""Draws depend on the seed and the logits alone, and their margins tell how sure they are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from copydraft.engine.sampling import Beginning, Greedy, Sampled

LOGITS = np.array([1.0, 3.0, 2.5, -1.0], np.float32)


def two_tokens(_: NDArray[np.float32]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    return np.array([7, 8], np.int32), np.array([0.75, 0.25])


def test_greedy_takes_the_likeliest_with_its_lead() -> None:
    assert Greedy().pick(LOGITS.copy()) == (1, 0.5)


def test_the_same_seed_draws_the_same_tokens() -> None:
    first, second = Sampled(two_tokens, seed=3), Sampled(two_tokens, seed=3)
    assert [first.pick(LOGITS) for _ in range(50)] == [second.pick(LOGITS) for _ in range(50)]


def test_draws_follow_the_probabilities() -> None:
    picker = Sampled(two_tokens, seed=0)
    drawn = [picker.pick(LOGITS).token for _ in range(4000)]
    assert drawn.count(7) / 4000 == pytest.approx(0.75, abs=0.03)


def test_the_margin_of_a_draw_is_its_distance_from_the_other_token() -> None:
    draw = float(np.random.default_rng(5).random())
    assert Sampled(two_tokens, seed=5).pick(LOGITS).margin == pytest.approx(abs(draw - 0.75))


def test_the_only_token_left_is_drawn_with_full_margin() -> None:
    def one(_: NDArray[np.float32]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        return np.array([4], np.int32), np.array([1.0])

    assert Sampled(one, seed=1).pick(LOGITS) == (4, 1.0)


class Spelled:
    """A tokenizer whose tokens are these texts."""

    vocab_size = 6
    end_tokens = frozenset({0})
    special_texts = frozenset[str]()
    texts = (b"", b" ", b" s", b" sum", b"um", b"x")

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        begun = [bool(piece) and text.encode().startswith(piece) for piece in self.texts]
        return [begun.index(True)] if any(begun) else []

    def piece(self, token: int) -> bytes:
        return self.texts[token]


def spelled_out(beginning: str, *likeliest: int) -> list[int]:
    """What is picked where the model would write `likeliest`, then its end."""
    picker = Beginning(Greedy(), beginning, Spelled())
    return [picker.pick(-0.1 * np.abs(np.arange(6.0) - token)).token for token in likeliest]


def test_a_beginning_is_spelled_by_the_likeliest_token_that_goes_beyond_it() -> None:
    assert spelled_out(" s", 3, 5) == [3, 5]


def test_a_beginning_may_be_spelled_by_several_tokens() -> None:
    assert spelled_out(" su", 2, 4, 5) == [2, 4, 5]


def test_a_token_that_contradicts_the_beginning_is_not_picked() -> None:
    assert spelled_out(" s", 5) == [3]


def test_a_model_that_would_end_spells_the_beginning_first() -> None:
    assert spelled_out(" ", 0, 0) == [1, 0]


def test_the_margin_inside_a_beginning_is_a_number() -> None:
    margin = Beginning(Greedy(), "x", Spelled()).pick(np.zeros(6, np.float32)).margin
    assert np.isfinite(margin)
