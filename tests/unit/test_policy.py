"""The policy drafts as far as it pays by the cost table, and learns from verification."""

from __future__ import annotations

import msgspec

from copydraft.drafting.candidate import Candidate
from copydraft.drafting.policy import Experience, Policy
from copydraft.drafting.profile import Profile, profile_of

FREE = [1.0] * 64
DEAR = [1.0 * width for width in range(1, 65)]
MIDDLING = [1 + 0.2 * drafted for drafted in range(64)]


def edits(costs: list[float]) -> Experience:
    """As a first edit finds it."""
    return Experience(profile_of("edit", {}), costs)


def capped(cap: int) -> Policy:
    return Policy(Experience(msgspec.structs.replace(profile_of("edit", {}), cap=cap), FREE))


def candidate(run: int, count: int = 40, source: str = "cursor") -> Candidate:
    return Candidate(source, run, range(count), "region", "a.py")


def test_where_width_is_free_everything_is_drafted() -> None:
    chosen = Policy(edits(FREE)).choose([candidate(32)])
    assert chosen is not None
    assert len(chosen.tokens) == 40


def test_where_a_drafted_token_costs_a_pass_nothing_is_drafted() -> None:
    assert Policy(edits(DEAR)).choose([candidate(3)]) is None


def test_a_sure_copy_is_drafted_further_than_an_unsure_one() -> None:
    policy = Policy(edits(MIDDLING))
    sure, unsure = policy.choose([candidate(32)]), policy.choose([candidate(4)])
    assert sure is not None
    assert unsure is None or len(sure.tokens) > len(unsure.tokens)


def test_the_source_that_brings_more_is_chosen() -> None:
    chosen = Policy(edits(FREE)).choose([candidate(1, source="suffix"), candidate(32)])
    assert chosen is not None
    assert chosen.source == "cursor"


def test_a_pass_that_promises_less_than_the_usual_text_for_its_time_stays_narrow() -> None:
    # Even odds for each token: the first brings half of one, for 0.4 of a pass.
    costs = [1 + 0.4 * drafted for drafted in range(64)]
    slow, fast = (Experience(Profile(passes=passes), costs) for passes in (1.0, 0.125))
    drafted = Policy(slow).choose([candidate(0)])
    assert drafted is not None
    assert len(drafted.tokens) == 1
    assert Policy(fast).choose([candidate(0)]) is None


def test_a_sure_copy_is_cut_into_the_widths_that_cost_least_for_each_token() -> None:
    # Eight tokens together are cheap; each further one still costs less than a pass of its own.
    costs = [1 + 0.05 * min(drafted, 7) + 0.3 * max(0, drafted - 7) for drafted in range(64)]
    slow = msgspec.structs.replace(profile_of("edit", {}), passes=1.0, drafted=0.0)
    chosen = Policy(Experience(slow, costs)).choose([candidate(32)])
    assert chosen is not None
    assert len(chosen.tokens) == 7


def test_no_more_is_looked_at_than_the_cost_table_and_the_caller_allow() -> None:
    policy = Policy(edits([1.0] * 5))
    assert (policy.longest(40), policy.longest(2)) == (4, 2)


def test_a_cap_limits_drafts_until_one_is_right_to_its_end() -> None:
    policy = capped(8)
    assert policy.longest(63) == 8
    policy.choose([candidate(32, count=8)])
    policy.learn(range(9), accepted=8)
    assert policy.longest(63) == 16


def test_a_wrong_draft_brings_the_cap_back_but_never_below_the_profiles() -> None:
    policy = capped(8)
    policy.choose([candidate(32, count=8)])
    policy.learn(range(9), accepted=8)
    for expected in (8, 8):
        policy.choose([candidate(32, count=policy.longest(63))])
        policy.learn([99], accepted=0)
        assert policy.longest(63) == expected


def test_rejected_drafts_end_drafting_and_right_ones_bring_it_back_without_being_drafted() -> None:
    policy = Policy(edits(MIDDLING))
    for _ in range(300):
        policy.choose([candidate(8)])
        policy.learn([99], accepted=0)
    assert policy.choose([candidate(8)]) is None
    for _ in range(300):
        # What plain decoding wrote judges the candidate that was not drafted.
        policy.choose([candidate(8)])
        policy.learn([0], accepted=0)
    assert policy.choose([candidate(8)]) is not None


def test_what_was_learned_outlives_the_request() -> None:
    experience = edits(MIDDLING)
    before = experience.profile()
    policy = Policy(experience)
    policy.choose([candidate(8)])
    policy.learn([99], accepted=0)
    after = experience.profile()
    assert after.weights["cursor run 4"] < before.weights["cursor run 4"]
    assert after.passes > before.passes


def test_without_candidates_there_is_no_draft() -> None:
    assert Policy(edits(FREE)).choose([]) is None
    assert Policy(edits(FREE)).choose([candidate(8, count=0)]) is None
