"""Draws depend on the seed and the logits alone, and their margins tell how sure they are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from copydraft.engine.sampling import Greedy, Sampled

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
