"""Profiles are learned from traces: weights, the usual rate and the cap of each kind."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from copydraft.evaluation import profiling
from copydraft.index.search import Search, Shown
from copydraft.index.segment import Source as Place
from copydraft.index.segment import build
from copydraft.traces import Source, Trace

FLAT = {"flat": [1 + 0.012 * drafted for drafted in range(64)]}


def copied(kind: str, count: int, every: int) -> list[Trace]:
    """Answers that copy their region, but for one token in `every`."""
    chance = random.Random(1)
    traces = []
    for _ in range(count):
        region = [chance.randrange(1000) for _ in range(300)]
        output = [t if i % every else 2000 + i for i, t in enumerate(region, start=1)]
        traces.append(
            Trace(
                kind=kind,
                prompt=[5000, *region],
                output=output,
                documents=[Source("region", "a.py", "text", region)],
            )
        )
    return traces


def array(tokens: list[int]) -> NDArray[np.uint32]:
    return np.array(tokens, np.uint32)


def nothing() -> None:
    pass


def test_every_kind_has_a_profile_of_its_own() -> None:
    traces = [*copied("edit", 4, 100), *copied("explain", 4, 3)]
    profiles = profiling.learn(traces, FLAT, nothing)
    assert profiles.keys() == {"edit", "explain"}
    assert profiles["edit"].passes < profiles["explain"].passes / 2


def test_what_the_corpora_offer_is_learned_beside_the_session() -> None:
    text = list(range(6000, 6300))
    search = Search([Shown(build([(Place("workspace", "b.py", "file", 0), array(text))]), ())])
    traces = [Trace(kind="edit", prompt=[1], output=text) for _ in range(3)]
    learned = profiling.learn(traces, FLAT, nothing, lambda _: search)["edit"].weights
    assert learned["corpus run 6"] > 0
    assert not any(name.startswith("suffix") for name in learned)


def test_where_most_text_is_new_the_cap_is_low() -> None:
    profiles = profiling.learn([*copied("a", 4, 100), *copied("b", 4, 1)], FLAT, nothing)
    assert (profiles["a"].cap, profiles["b"].cap) == (64, 8)


def test_a_learned_profile_is_no_slower_than_none_on_edits_of_the_same_kind() -> None:
    learned = profiling.learn(copied("other", 12, 20), FLAT, nothing)
    unseen = copied("other", 20, 20)[12:]
    speeds = [profiling.speedup(unseen, FLAT["flat"], given) for given in (learned, {})]
    assert speeds[0] >= speeds[1]


def test_leaving_a_repository_out_begins_with_nothing_where_no_other_is_there() -> None:
    traces = copied("edit", 6, 20)
    tally = profiling.leave_one_out(traces, FLAT, nothing)["flat"]
    assert tally.tokens == 6 * 300
    assert tally.cost["flat"] == profiling.leave_one_out(traces, FLAT, nothing)["flat"].cost["flat"]


def test_progress_is_told_as_often_as_was_said() -> None:
    told = []
    traces = copied("edit", 3, 20)
    profiling.learn(traces, FLAT, lambda: told.append(1))
    assert len(told) == profiling.rounds(FLAT) * len(traces)
