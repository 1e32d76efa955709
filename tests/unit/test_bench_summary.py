"""A summary compares each arm with plain decoding, and shows where the texts part."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from copydraft.evaluation.bench_rows import Measured
from copydraft.evaluation.bench_summary import summary, tables
from tests.fixtures.bench_rows import HEADING, row, rows, step


def of(*measured: Measured) -> dict[str, Any]:
    edits: dict[str, Any] = summary(HEADING, rows(*measured))["kinds"]["edit"]
    return edits


def arm(name: str, *measured: Measured) -> dict[str, Any]:
    values: dict[str, Any] = of(*measured)["arms"][name]
    return values


def test_the_speedup_is_the_median_of_the_repeats_with_the_slowest_and_the_fastest() -> None:
    plain = [row("plain", 4.0, repeat=r) for r in range(3)]
    fast = [row("copydraft", seconds, repeat=r) for r, seconds in enumerate((4.0, 2.0, 1.0))]
    speedup = arm("copydraft", *plain, *fast)["speedup"]
    assert speedup == {"median": 2.0, "least": 1.0, "most": 4.0}


def test_a_speedup_is_of_the_totals_not_the_mean_of_the_tasks() -> None:
    plain = [row("plain", 8.0, task=0), row("plain", 1.0, task=1)]
    fast = [row("copydraft", 2.0, task=0), row("copydraft", 1.0, task=1)]
    assert arm("copydraft", *plain, *fast)["speedup"]["median"] == 3.0


def test_times_are_compared_per_token() -> None:
    measured = [row("plain", 4.0, [1, 2, 3, 4]), row("copydraft", 1.0, [1, 2])]
    assert arm("copydraft", *measured)["speedup"]["median"] == 2.0


def test_tasks_that_plain_decoding_has_not_ended_do_not_count() -> None:
    measured = [row("plain", 4.0), row("oracle", 2.0), row("oracle", 9.0, task=1)]
    assert arm("oracle", *measured)["speedup"]["median"] == 2.0


def test_a_repeat_that_was_interrupted_does_not_count() -> None:
    measured = [
        *(row("plain", 4.0, task=t, repeat=r) for r in (0, 1) for t in (0, 1)),
        *(row("oracle", 2.0, task=t) for t in (0, 1)),
        row("oracle", 4.0, task=0, repeat=1),
    ]
    assert arm("oracle", *measured)["speedup"] == {"median": 2.0, "least": 2.0, "most": 2.0}


def test_acceptance_is_told_by_source_and_in_all() -> None:
    drafting = row(
        "copydraft", 1.0, drafted={"region": 6, "session": 2}, accepted={"region": 5, "session": 1}
    )
    values = arm("copydraft", row("plain", 4.0), drafting)
    assert values["acceptance_rate"] == 0.75
    assert values["sources"]["region"] == {"drafted": 6, "accepted": 5}


def test_a_fork_is_told_with_the_margin_of_the_plain_token_there() -> None:
    plain = row("plain", 4.0, [1, 2, 3], margins=[5.0, 0.01, 7.0])
    assert arm("oracle", plain, row("oracle", 2.0, [1, 9, 3]))["forks"] == [
        {"task": 0, "repeat": 0, "token": 1, "margin": 0.01}
    ]


def test_a_text_that_ends_early_forks_there() -> None:
    plain = row("plain", 4.0, [1, 2, 3], margins=[5.0, 6.0, 0.02])
    assert arm("oracle", plain, row("oracle", 2.0, [1, 2]))["forks"][0]["token"] == 2


def test_servers_are_compared_with_their_own_plain_decoding_too() -> None:
    measured = [row("plain", 8.0), row("server-plain", 6.0), row("server-ngram-mod", 2.0)]
    values = arm("server-ngram-mod", *measured)
    assert (values["speedup"]["median"], values["over_server_plain"]["median"]) == (4.0, 3.0)


def test_one_verification_step_is_the_mean_of_the_passes_that_drafted() -> None:
    steps = [step(8, 6, pass_us=4000), step(4, 4, pass_us=2000), step(0, 0)]
    measured = [row("plain", 0.008), row("copydraft", 0.004, steps=steps)]
    assert of(*measured)["verification_step"] == {
        "steps": 2,
        "proposed": 6,
        "propose_us": 20,
        "passes": 1,
        "pass_ms": 3.0,
        "decode_step_ms": pytest.approx(2.0),
        "pass_in_decode_steps": pytest.approx(1.5),
        "accepted": 5,
        "written": 6,
        "steps_avoided": 5,
    }


def test_without_drafts_there_is_no_verification_step() -> None:
    assert of(row("plain", 4.0))["verification_step"] is None


def test_the_tables_show_arms_and_the_verification_step() -> None:
    steps = [step(8, 6, pass_us=4000)]
    plain = row("plain", 0.008, margins=[1.0, 1.0, 1.0, 0.25])
    other = row("copydraft", 0.002, [1, 2, 3, 9], steps=steps)
    out = io.StringIO()
    console = Console(width=100, file=out)
    result = summary(HEADING, rows(plain, other))
    for table in tables(result):
        console.print(table)
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert "copydraft 4.00 4.00-4.00 2000.0 2.0 0% 1 0.250" in lines
    assert "tokens proposed by copying 8.0 20 µs, CPU" in lines
    assert "serial decode steps avoided 6.0 not run at all" in lines
    assert json.dumps(result)
