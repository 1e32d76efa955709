"""Verification accepts exactly what the target picks itself."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from copydraft.engine.sampling import Pick
from copydraft.engine.verify import verify

END = 9


def rows(*best: int, lead: float = 4.0) -> Callable[[int], Pick]:
    """Picks best[i] from row i."""
    return lambda row: Pick(best[row], lead)


def test_an_accepted_draft_brings_one_token_more() -> None:
    verified = verify([1, 2], rows(1, 2, 3), frozenset({END}))
    assert verified.tokens == [1, 2, 3]
    assert verified.accepted == 2


def test_the_first_wrong_token_is_replaced_and_the_rest_dropped() -> None:
    verified = verify([1, 7, 3], rows(1, 2, 3, 4), frozenset({END}))
    assert verified.tokens == [1, 2]
    assert verified.accepted == 1


def test_without_a_draft_the_targets_token_is_written() -> None:
    assert verify([], rows(5), frozenset({END})).tokens == [5]


def test_nothing_follows_a_drafted_end() -> None:
    verified = verify([1, END, 3], rows(1, END, 3, 4), frozenset({END}))
    assert verified.tokens == [1, END]
    assert verified.accepted == 2


def test_every_token_has_the_margin_it_won_by() -> None:
    verified = verify([1], rows(1, 2, lead=1.5), frozenset())
    assert verified.margins == [1.5, 1.5]


def test_a_near_tie_ends_the_pass_before_its_token() -> None:
    verified = verify([1], rows(1, 2, lead=0.1), frozenset(), tie_threshold=0.5)
    assert verified.tokens == []
    assert verified.near_tie


@given(st.lists(st.integers(0, 8), min_size=1, max_size=8), st.lists(st.integers(0, 8), max_size=7))
def test_what_is_written_is_a_prefix_of_what_the_target_prefers(
    best: list[int], draft: list[int]
) -> None:
    draft = draft[: len(best) - 1]
    verified = verify(draft, rows(*best), frozenset())
    assert verified.tokens == best[: len(verified.tokens)]
    assert verified.tokens[: verified.accepted] == draft[: verified.accepted]
    assert len(verified.tokens) == verified.accepted + 1
