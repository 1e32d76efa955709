"""The chance that a copy goes on, by logistic regression, learned as it is used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.drafting.candidate import Candidate, magnitude, rivalry
from copydraft.drafting.survival import Survival


def candidate(run: int, tokens: int, *traits: str) -> Candidate:
    return Candidate("suffix", run, range(tokens), "session", "", traits)


def test_a_source_of_which_nothing_is_known_has_even_odds() -> None:
    assert Survival().chances(candidate(3, 4)) == [0.5] * 4


def test_the_weight_of_a_run_counts_for_the_tokens_that_come_after_such_a_run() -> None:
    survival = Survival({"suffix run 2": 2.0})
    # Runs of 2 and 3 share a weight; the third token comes after 4.
    assert survival.chances(candidate(2, 3)) == pytest.approx([0.881, 0.881, 0.5], abs=1e-3)


def test_traits_shift_the_odds_of_every_token() -> None:
    survival = Survival({"good": 1.0, "better": 1.0})
    assert survival.chances(candidate(0, 2, "good", "better")) == pytest.approx(
        [0.881, 0.881], abs=1e-3
    )


def test_right_tokens_raise_a_chance_and_a_wrong_one_lowers_it() -> None:
    survival = Survival()
    survival.learn(candidate(0, 1), accepted=1, judged=1)
    assert survival.chances(candidate(0, 1))[0] > 0.5
    survival = Survival()
    survival.learn(candidate(0, 1), accepted=0, judged=1)
    assert survival.chances(candidate(0, 1))[0] < 0.5


def test_tokens_behind_the_wrong_one_tell_nothing() -> None:
    survival = Survival()
    survival.learn(candidate(0, 40), accepted=0, judged=40)
    assert survival.weights.keys() == {"suffix run 0"}


def test_many_observations_teach_the_true_chance() -> None:
    survival = Survival()
    for number in range(2000):
        survival.learn(candidate(4, 1), accepted=int(number % 5 > 0), judged=1)
    assert survival.chances(candidate(4, 1))[0] == pytest.approx(0.8, abs=0.05)


@given(st.integers(0, 300), st.integers(0, 100), st.lists(st.floats(-50, 50), max_size=3))
def test_there_is_one_chance_for_each_token_whatever_the_weights(
    run: int, tokens: int, weights: list[float]
) -> None:
    traits = [f"trait {number}" for number in range(len(weights))]
    survival = Survival(dict(zip(traits, weights, strict=True)))
    chances = survival.chances(candidate(run, tokens, *traits))
    assert len(chances) == tokens
    assert all(0 < chance < 1 for chance in chances)


def test_magnitudes_are_powers_of_two_up_to_a_longest() -> None:
    runs = (0, 1, 2, 3, 4, 31, 32, 1000)
    assert [magnitude(run) for run in runs] == [0, 1, 2, 2, 3, 5, 6, 6]


@pytest.mark.parametrize(
    ("rival", "word"),
    [
        (None, "alone"),
        (Candidate("cursor", 8, range(40), "region", ""), "same shorter"),
        (Candidate("cursor", 1, [0, 1, 9], "region", ""), "parting longer"),
        (Candidate("cursor", 4, [9], "region", ""), "against equal"),
    ],
)
def test_a_candidate_is_compared_with_that_of_the_other_source(
    rival: Candidate | None, word: str
) -> None:
    assert rivalry(candidate(4, 40), rival) == word
