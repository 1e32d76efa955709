"""Every chain drafter of replay's is an arm; each learns by itself, and its passes are noted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from copydraft.evaluation.arms import ARMS, OURS, Drafters, Watched
from copydraft.evaluation.baselines.tree import TreeDraft
from copydraft.evaluation.replay import passes
from copydraft.tokens import Draft
from copydraft.traces import Source, Trace

COSTS = [1.0 + 0.01 * drafted for drafted in range(16)]
TEXT = list(range(100, 160))
TRACE = Trace(
    kind="edit",
    prompt=[1, *TEXT, 2],
    output=TEXT,
    documents=[Source("region", "a", "region", TEXT)],
)


class Scripted:
    """Proposes these drafts, one after the other."""

    def __init__(self, *drafts: Draft | TreeDraft) -> None:
        self._drafts = iter(drafts)

    def propose(self, limit: int) -> Draft | TreeDraft:
        return next(self._drafts)

    def written(self, tokens: Sequence[int], accepted: int) -> None:
        pass


def counts(watched: Watched) -> list[tuple[int, int, int, str, int]]:
    return [(s.drafted, s.accepted, s.written, s.corpus, s.run) for s in watched.steps]


def decode(drafter: Watched, trace: Trace) -> None:
    for _ in passes(trace, drafter, 15):
        pass


def test_the_arms_are_ours_the_peers_chains_and_the_server() -> None:
    assert list(ARMS) == [
        "plain",
        "copydraft",
        "strict",
        "oracle",
        "prompt-lookup",
        "prompt-lookup-recent",
        "llama-cpp-python",
        "ngram-simple",
        "ngram-map-k",
        "ngram-mod",
        "suffix-decoding",
        "suffix-decoding-best",
        "sam-decoding",
        "server-plain",
        "server-ngram-simple",
        "server-ngram-map-k",
        "server-ngram-map-k4v",
        "server-ngram-mod",
        "server-ngram-cache",
    ]


@pytest.mark.parametrize("arm", [name for name in OURS if name not in ("plain", "ngram-mod")])
def test_an_arm_drafts_a_text_that_it_knows(arm: str) -> None:
    drafter = Drafters(COSTS).make(arm, 0, TRACE)
    decode(drafter, TRACE)
    assert sum(step.accepted for step in drafter.steps) > 10


def test_passes_are_noted_with_their_drafts() -> None:
    drafts = [Draft([5, 6, 7], "region", "a"), Draft((), "", ""), Draft([9], "session", "")]
    watched = Watched(Scripted(*drafts))
    for written, accepted in (([5, 6, 0], 2), ([1], 0), ([9, 3], 1)):
        watched.propose(8)
        watched.written(written, accepted)
    assert counts(watched) == [(3, 2, 3, "region", 0), (0, 0, 1, "", 0), (1, 1, 2, "session", 0)]


def test_a_run_grows_with_every_draft_that_is_right_to_its_end() -> None:
    drafts = [Draft([5] * size, "region", "a") for size in (2, 3, 4, 1)]
    watched = Watched(Scripted(*drafts))
    for accepted in (2, 3, 1, 1):
        watched.propose(8)
        watched.written([5] * (accepted + 1), accepted)
    assert [step.run for step in watched.steps] == [0, 2, 5, 0]


def test_a_pass_that_no_draft_was_asked_for_is_noted_as_plain() -> None:
    watched = Watched(Scripted(Draft([5], "region", "a")))
    watched.propose(8)
    watched.written([5], 1)
    watched.written([6], 0)
    assert counts(watched) == [(1, 1, 1, "region", 0), (0, 0, 1, "", 1)]


def test_trees_are_refused() -> None:
    watched = Watched(Scripted(TreeDraft((1, 2), (-1, -1), "model", "")))
    with pytest.raises(TypeError, match="Scripted drafts trees"):
        watched.propose(8)


NEXT = Trace(kind="edit", prompt=[1, 7], output=TEXT)
"""A text that was written before, and is nowhere else."""


def accepted_after(drafters: Drafters, arm: str, repeat: int) -> int:
    drafter = drafters.make(arm, repeat, NEXT)
    decode(drafter, NEXT)
    return sum(step.accepted for step in drafter.steps)


def test_what_one_task_teaches_an_arm_has_for_the_next() -> None:
    drafters = Drafters(COSTS)
    decode(drafters.make("sam-decoding", 0, TRACE), TRACE)
    assert accepted_after(drafters, "sam-decoding", 0) > 30


def test_a_repeat_begins_anew() -> None:
    drafters = Drafters(COSTS)
    decode(drafters.make("sam-decoding", 0, TRACE), TRACE)
    assert accepted_after(drafters, "sam-decoding", 1) == 0


def test_what_was_measured_before_an_interruption_is_learned_again() -> None:
    drafters = Drafters(COSTS)
    drafters.relearn("sam-decoding", 0, TRACE)
    assert accepted_after(drafters, "sam-decoding", 0) > 30
