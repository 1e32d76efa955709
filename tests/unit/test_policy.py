"""The policy drafts as far as it pays by the cost table, and learns from verification."""

from __future__ import annotations

from copydraft.drafting.policy import Candidate, Policy, Survival

FREE = [1.0] * 64
DEAR = [1.0 * width for width in range(1, 65)]


def candidate(run: int, count: int = 40, source: str = "cursor") -> Candidate:
    return Candidate(source, run, range(count), "region", "a.py")


def test_where_width_is_free_everything_is_drafted() -> None:
    chosen = Policy(FREE, Survival()).choose([candidate(16)])
    assert chosen is not None
    assert len(chosen.tokens) == 40


def test_where_a_drafted_token_costs_a_pass_nothing_is_drafted() -> None:
    assert Policy(DEAR, Survival()).choose([candidate(3)]) is None


def test_a_sure_copy_is_drafted_further_than_an_unsure_one() -> None:
    policy = Policy([1 + 0.3 * k for k in range(64)], Survival())
    sure, unsure = policy.choose([candidate(32)]), policy.choose([candidate(3)])
    assert sure is not None
    assert unsure is not None
    assert len(sure.tokens) > len(unsure.tokens)


def test_the_source_that_brings_more_is_chosen() -> None:
    chosen = Policy(FREE, Survival()).choose([candidate(1, source="suffix"), candidate(32)])
    assert chosen is not None
    assert chosen.source == "cursor"


def test_a_draft_never_exceeds_the_cost_table() -> None:
    chosen = Policy([1.0] * 5, Survival()).choose([candidate(32)])
    assert chosen is not None
    assert len(chosen.tokens) == 4


def test_rejected_drafts_shorten_later_ones_and_accepted_ones_bring_them_back() -> None:
    policy = Policy([1 + 0.3 * k for k in range(64)], Survival())
    for _ in range(300):
        policy.learn(candidate(8), accepted=0, judged=1)
    assert policy.choose([candidate(8)]) is None
    for _ in range(300):
        policy.learn(candidate(8), accepted=1, judged=1)
    assert policy.choose([candidate(8)]) is not None


def test_a_source_given_up_is_tried_again_now_and_then() -> None:
    policy = Policy(DEAR, Survival())
    drafts = [policy.choose([candidate(0)]) for _ in range(128)]
    assert [len(draft.tokens) for draft in drafts if draft] == [1, 1]


def test_without_candidates_there_is_no_draft() -> None:
    assert Policy(FREE, Survival()).choose([]) is None
    assert Policy(FREE, Survival()).choose([candidate(8, count=0)]) is None
