"""Draws depend on the seed and the logits alone, and their margins tell how sure they are."""

from __future__ import annotations

import ctypes

import llama_cpp
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from copydraft.engine.sampling import Beginning, Greedy, Sampled, survivors
from copydraft.protocol import Sampling

LOGITS = np.array([1.0, 3.0, 2.5, -1.0], np.float32)


def sampled(temperature: float, top_k: int, top_p: float, min_p: float, seed: int = 0) -> Sampling:
    return Sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=seed)


ALL = sampled(1.0, 0, 1.0, 0.0)


def test_greedy_takes_the_likeliest_with_its_lead() -> None:
    assert Greedy().pick(LOGITS.copy(), 0) == (1, 0.5)


def test_greedy_leaves_the_logits_as_they_were() -> None:
    logits = LOGITS.copy()
    Greedy().pick(logits, 0)
    assert np.array_equal(logits, LOGITS)


def test_a_draw_depends_on_seed_and_position_and_not_on_what_was_drawn_before() -> None:
    fresh, used = Sampled(ALL), Sampled(ALL)
    in_order = [used.pick(LOGITS, position) for position in range(50)]
    backwards = [fresh.pick(LOGITS, position) for position in reversed(range(50))]
    assert backwards[::-1] == in_order
    other = Sampled(msgspec.structs.replace(ALL, seed=1))
    assert [other.pick(LOGITS, position) for position in range(50)] != in_order


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_follow_the_softmax_of_the_logits_by_the_temperature(temperature: float) -> None:
    picker = Sampled(msgspec.structs.replace(ALL, temperature=temperature))
    drawn = [picker.pick(LOGITS, position).token for position in range(20_000)]
    shares = np.exp(LOGITS / temperature) / np.exp(LOGITS / temperature).sum()
    assert np.bincount(drawn, minlength=4) / 20_000 == pytest.approx(shares, abs=0.012)


def test_the_same_position_under_other_seeds_draws_by_the_same_shares() -> None:
    drawn = [
        Sampled(msgspec.structs.replace(ALL, seed=seed)).pick(LOGITS, 3).token
        for seed in range(20_000)
    ]
    shares = np.exp(LOGITS) / np.exp(LOGITS).sum()
    assert np.bincount(drawn, minlength=4) / 20_000 == pytest.approx(shares, abs=0.012)


def test_a_draw_is_told_how_far_the_logits_may_stray() -> None:
    token, margin = Sampled(ALL).pick(LOGITS, 0)
    for other in {0, 1, 2, 3} - {token}:
        raised = LOGITS.copy()
        raised[other] += margin - 0.01
        assert Sampled(ALL).pick(raised, 0).token == token
    changed = [LOGITS + (margin + 0.01) * (np.arange(4) == other) for other in range(4)]
    assert {Sampled(ALL).pick(raised.astype(np.float32), 0).token for raised in changed} != {token}


@given(
    st.integers(0, 2**32),
    st.integers(0, 300),
    st.sampled_from([0.05, 0.3, 0.95, 1.0]),
    st.sampled_from([0.0, 0.05, 0.3]),
    st.sampled_from([0.3, 0.7, 1.5]),
    st.sampled_from([0, 1, 5, 40]),
)
def test_logits_that_stray_by_less_than_the_margin_change_no_draw(
    seed: int, position: int, top_p: float, min_p: float, temperature: float, top_k: int
) -> None:
    chance = np.random.default_rng(seed)
    logits = (chance.choice([1.0, 3.0]) * chance.standard_normal(200)).astype(np.float32)
    picker = Sampled(sampled(temperature, top_k, top_p, min_p, seed))
    token, margin = picker.pick(logits, position)
    assert margin >= 0
    for _ in range(20):
        # Two of them stray from one another by less than the margin.
        strayed = logits + 0.499 * min(margin, 4.0) * chance.uniform(-1, 1, 200)
        assert picker.pick(strayed.astype(np.float32), position).token == token


@given(
    st.integers(0, 2**32),
    st.sampled_from([0.01, 0.5, 0.95, 1.0]),
    st.sampled_from([0.0, 0.05, 0.5]),
    st.sampled_from([0, 1, 40, 150]),
)
def test_what_may_be_drawn_is_what_llama_cpps_own_samplers_leave(
    seed: int, top_p: float, min_p: float, top_k: int
) -> None:
    chance = np.random.default_rng(seed)
    logits = (chance.choice([0.3, 3.0]) * chance.standard_normal(200)).astype(np.float32)
    ids, sure = survivors(logits, sampled(1.0, top_k, top_p, min_p))
    assert sorted(ids[sure > 0]) == left_by_llama_cpp(logits, top_k, top_p, min_p)


def test_a_draw_whose_token_would_fall_out_behind_its_neighbour_is_a_near_tie() -> None:
    logits = np.log(np.array([0.45, 0.45, 0.0496, 0.0495, 0.0009], np.float64)).astype(np.float32)
    rules = sampled(1.0, 40, 0.95, 0.05, seed=8)
    token, margin = Sampled(rules).pick(logits, 0)
    assert (token, margin < 0.01) == (2, True)


def test_tokens_that_tie_at_the_cut_are_drawn_from_with_no_margin() -> None:
    logits = np.array([5.0, 5.0, 1.0, 0.0, -3.0], np.float32)
    token, margin = Sampled(sampled(1.0, 1, 1.0, 0.0)).pick(logits, 0)
    assert (token, margin < 1e-9) == (0, True)


def test_of_a_large_vocabulary_the_top_k_are_found() -> None:
    logits = np.random.default_rng(1).standard_normal(10_007).astype(np.float32)
    ids, sure = survivors(logits, sampled(1.0, 40, 1.0, 0.0))
    assert list(ids[sure > 0]) == list(np.argsort(-logits)[:40])


def left_by_llama_cpp(
    logits: NDArray[np.float32], top_k: int, top_p: float, min_p: float
) -> list[int]:
    data = np.zeros(200, dtype=[("id", np.int32), ("logit", np.float32), ("p", np.float32)])
    data["id"] = np.arange(200)
    data["logit"] = logits
    pointer = data.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data))
    array = llama_cpp.llama_token_data_array(pointer, len(data), -1, sorted=False)
    for sampler in (
        llama_cpp.llama_sampler_init_top_k(top_k),
        llama_cpp.llama_sampler_init_top_p(top_p, 1),
        llama_cpp.llama_sampler_init_min_p(min_p, 1),
    ):
        llama_cpp.llama_sampler_apply(sampler, ctypes.byref(array))
        llama_cpp.llama_sampler_free(sampler)
    return sorted(data["id"][: array.size])


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

    def logits(token: int) -> NDArray[np.float32]:
        return (-0.1 * np.abs(np.arange(6) - token)).astype(np.float32)

    return [picker.pick(logits(token), at).token for at, token in enumerate(likeliest)]


def test_a_beginning_is_spelled_by_the_likeliest_token_that_goes_beyond_it() -> None:
    assert spelled_out(" s", 3, 5) == [3, 5]


def test_a_beginning_may_be_spelled_by_several_tokens() -> None:
    assert spelled_out(" su", 2, 4, 5) == [2, 4, 5]


def test_a_token_that_contradicts_the_beginning_is_not_picked() -> None:
    assert spelled_out(" s", 5) == [3]


def test_a_model_that_would_end_spells_the_beginning_first() -> None:
    assert spelled_out(" ", 0, 0) == [1, 0]


def test_the_margin_inside_a_beginning_is_a_number() -> None:
    margin = Beginning(Greedy(), "x", Spelled()).pick(np.zeros(6, np.float32), 0).margin
    assert np.isfinite(margin)
