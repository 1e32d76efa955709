"""A bench on a real engine: arms beside one another, gone on with, and added to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from copydraft.engine.cost import Calibration
from copydraft.engine.engine import Engine
from copydraft.errors import BadRequest, CopydraftError
from copydraft.evaluation.bench import bench_command
from copydraft.evaluation.bench_rows import Measured
from copydraft.evaluation.bench_run import with_end
from copydraft.serving import loading
from tests.fixtures.fake_llama_server import program

TEXT = "alpha = 1\nbeta = 2\nprint(alpha + beta)\n"
ANSWER = "\nalpha = 1\nbeta = 3\nprint(alpha + beta)\n```"
TASK = {
    "repo": "r",
    "commit": "c",
    "path": "a.py",
    "instruction": "set beta to 3",
    "start": 0,
    "end": 3,
    "before": TEXT,
    "after": TEXT.replace("2", "3"),
    "file": TEXT,
}

Bench = Callable[..., Result]


@pytest.fixture
def model(answering_model: Callable[..., Path]) -> Path:
    return answering_model(ANSWER, after="```python")


@pytest.fixture
def bench(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Runs the command on two tasks, with wide passes that cost next to nothing."""
    cheap = Calibration({1: 1.0, 64: 1.5}, tie_threshold=0.05)
    monkeypatch.setattr(Engine, "calibrate", lambda *_: cheap)
    monkeypatch.setenv("COPYDRAFT_THREADS", "1")
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(f"{json.dumps(TASK)}\n" * 2)

    def run(*options: str) -> Result:
        files = [str(tasks), "--model", str(model), "--out", str(tmp_path / "b.jsonl")]
        result = CliRunner().invoke(bench_command, [*files, "--repeats", "2", *options])
        if isinstance(result.exception, CopydraftError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result

    return run


def kept(tmp_path: Path) -> list[Measured]:
    lines = (tmp_path / "b.jsonl").read_bytes().splitlines()[1:]
    return [msgspec.json.decode(line, type=Measured) for line in lines]


def arms(result: Result) -> Any:
    return json.loads(result.stdout)["kinds"]["edit"]["arms"]


def test_all_arms_write_the_same_text(bench: Bench, tmp_path: Path) -> None:
    result = arms(bench("--json"))
    assert all(not values["forks"] for values in result.values())
    assert len({tuple(row.tokens) for row in kept(tmp_path)}) == 1
    assert len(result) == 13


def test_plain_comes_first_and_the_others_take_turns(bench: Bench, tmp_path: Path) -> None:
    bench("--arms", "copydraft,oracle")
    order = [(row.repeat, row.task, row.arm) for row in kept(tmp_path)]
    assert order == [
        (0, 0, "plain"),
        (0, 0, "copydraft"),
        (0, 0, "oracle"),
        (0, 1, "plain"),
        (0, 1, "oracle"),
        (0, 1, "copydraft"),
        (1, 0, "plain"),
        (1, 0, "oracle"),
        (1, 0, "copydraft"),
        (1, 1, "plain"),
        (1, 1, "copydraft"),
        (1, 1, "oracle"),
    ]


def test_every_pass_of_a_drafter_is_kept(bench: Bench, tmp_path: Path) -> None:
    bench("--arms", "copydraft")
    first = kept(tmp_path)[1]
    assert sum(step.written for step in first.steps) == len(first.tokens)
    assert sum(step.drafted for step in first.steps) == sum(first.drafted.values()) > 0


def test_an_arm_that_is_added_is_measured_alone(bench: Bench, tmp_path: Path) -> None:
    bench("--arms", "plain")
    before = kept(tmp_path)
    bench("--arms", "oracle")
    after = kept(tmp_path)
    assert after[: len(before)] == before
    assert [row.arm for row in after[len(before) :]] == ["oracle"] * 4


def test_an_arm_that_is_added_is_told_the_answer_that_was_kept(
    bench: Bench, tmp_path: Path
) -> None:
    bench("--arms", "plain")
    bench("--arms", "oracle")
    oracle = kept(tmp_path)[-1]
    assert oracle.passes < len(oracle.tokens) / 4


def test_a_drafter_that_is_gone_on_with_knows_what_it_had_learned(
    bench: Bench, tmp_path: Path
) -> None:
    bench("--arms", "sam-decoding", "--repeats", "1")
    whole = kept(tmp_path)
    path = tmp_path / "b.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    bench("--arms", "sam-decoding", "--repeats", "1")
    again = kept(tmp_path)[-1]
    assert again.arm == "sam-decoding"
    assert (again.passes, again.drafted) == (whole[-1].passes, whole[-1].drafted)


def test_nothing_is_loaded_if_nothing_is_missing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = bench("--arms", "copydraft", "--json")
    monkeypatch.setattr(loading, "load", None)
    assert bench("--arms", "copydraft", "--json").stdout == first.stdout


def test_explanations_are_measured_too(bench: Bench) -> None:
    result = bench("--kind", "explain", "--arms", "plain", "--repeats", "1", "--json")
    assert list(json.loads(result.stdout)["kinds"]) == ["explain"]


def test_sampled_text_is_the_same_with_and_without_drafts(bench: Bench, tmp_path: Path) -> None:
    result = arms(bench("--temperature", "0.7", "--arms", "copydraft", "--json"))
    assert result["copydraft"]["forks"] == []
    assert sum(kept(tmp_path)[1].drafted.values()) > 0


def test_a_task_that_makes_no_request_is_left_out_and_told(bench: Bench, tmp_path: Path) -> None:
    rows = [TASK | {"start": 2, "end": 99}, TASK]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)))
    result = bench("--arms", "plain", "--repeats", "1")
    assert [row.task for row in kept(tmp_path)] == [1]
    assert "task 0: " in result.stderr


def test_servers_join_with_our_prompt_and_as_many_tokens(bench: Bench, tmp_path: Path) -> None:
    chosen = ("--arms", "server-plain,server-ngram-mod", "--repeats", "1", "--json")
    result = arms(bench("--llama-server", str(program(tmp_path)), *chosen))
    ours, *servers = kept(tmp_path)[:3]
    assert [len(row.tokens) for row in servers] == [len(ours.tokens)] * 2
    assert {row.arm: row.seconds for row in servers} == {
        "server-plain": pytest.approx(0.11),
        "server-ngram-mod": pytest.approx(0.11),
    }
    assert result["server-ngram-mod"]["over_server_plain"]["median"] == pytest.approx(1.0)
    assert result["server-ngram-mod"]["acceptance_rate"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("answer", "tokens", "whole"),
    [
        ([1, 2, 8], [1, 2], [1, 2, 8]),
        ([1, 2, 3], [1], [1, 7]),
        ([1, 2], [1, 2], [1, 2, 7]),
        ([1, 2, 7], [1, 2, 7], [1, 2, 7]),
    ],
)
def test_a_servers_answer_ends_in_the_token_that_ended_ours(
    answer: list[int], tokens: list[int], whole: list[int]
) -> None:
    assert with_end(tokens, answer, frozenset({7, 8})) == whole


def test_the_results_are_drawn(bench: Bench, tmp_path: Path) -> None:
    bench("--arms", "copydraft", "--plot", str(tmp_path / "b.svg"))
    assert "speedup over plain" in (tmp_path / "b.svg").read_text()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--arms", "magic"), "no arm is named 'magic'"),
        (("--arms", "server-plain"), "server-plain needs llama.cpp's server"),
        (
            ("--arms", "server-plain", "--llama-server", "/x", "--temperature", "1"),
            "server-plain draws other tokens",
        ),
    ],
)
def test_arms_that_cannot_be_measured_are_told(
    bench: Bench, options: tuple[str, ...], told: str
) -> None:
    with pytest.raises(BadRequest, match=told):
        bench(*options)
