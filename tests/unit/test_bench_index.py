"""How the figures of scripts/bench-index are judged; the figures themselves take a real model."""

from __future__ import annotations

import bench_index

WELL = {
    "index_tokens_per_s_and_core": 150_000.0,
    "bytes_per_token_on_disk": 16.0,
    "bytes_per_token_in_memory": 9.0,
    "reopen_s": 1.0,
    "look_up_us_median": 50.0,
    "look_up_us_p99": 200.0,
    "small_documents_look_up_us_median": 50.0,
    "small_documents_look_up_us_p99": 200.0,
    "keystroke_ms_p99": 2.0,
    "draftable_ms_median": 50.0,
}


def test_figures_at_the_limits_are_within_the_budget() -> None:
    assert bench_index.over_budget(WELL) == []


def test_what_is_over_the_budget_is_named_with_its_limit() -> None:
    figures = WELL | {"look_up_us_p99": 201.0, "index_tokens_per_s_and_core": 1.0}
    assert bench_index.over_budget(figures) == [
        "index_tokens_per_s_and_core is 1.0, at least 150000 is wanted",
        "look_up_us_p99 is 201.0, at most 200 is wanted",
    ]


def test_times_are_given_as_median_and_p99() -> None:
    times = [0.001] * 99 + [0.002]
    assert bench_index.microseconds(times, "a") == {"a_median": 1000.0, "a_p99": 1010.0}
