"""The doctor runs all its checks, whatever becomes of one of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from copydraft import cli
from copydraft.doctor import examination
from copydraft.doctor.finding import Finding, State
from copydraft.errors import DiskProblem


def test_a_fault_in_one_check_becomes_a_problem_and_the_others_still_run() -> None:
    def failing() -> Iterator[Finding]:
        yield Finding("first", "ok", "well")
        raise DiskProblem("the disk is full", "free some")

    def working() -> Iterator[Finding]:
        yield Finding("second", "ok", "well too")

    assert examination.examine({"first": failing, "second": working}) == [
        Finding("first", "ok", "well"),
        Finding("first", "problem", "the disk is full", "free some"),
        Finding("second", "ok", "well too"),
    ]


def test_a_fault_that_several_checks_meet_is_told_once() -> None:
    def failing() -> Iterator[Finding]:
        yield from ()
        raise DiskProblem("the disk is full", "free some")

    assert examination.examine({"first": failing, "second": failing}) == [
        Finding("first", "problem", "the disk is full", "free some")
    ]


@pytest.mark.parametrize(
    "fault", [PermissionError("not yours"), subprocess.TimeoutExpired(["c++"], 10)]
)
def test_what_the_system_refuses_becomes_a_problem_of_that_check(fault: Exception) -> None:
    def failing() -> Iterator[Finding]:
        yield from ()
        raise fault

    assert examination.examine({"first": failing}) == [
        Finding("first", "problem", f"it could not be checked: {fault}")
    ]


@pytest.mark.parametrize(("state", "status"), [("ok", 0), ("warning", 0), ("problem", 1)])
def test_the_exit_status_is_one_if_there_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, state: State, status: int
) -> None:
    finding = Finding("disk", state, "as it is", "mend it")
    monkeypatch.setattr(examination, "examine", lambda: [Finding("python", "ok", "3.11"), finding])
    result = CliRunner().invoke(cli.cli, ["doctor"])
    assert result.exit_code == status
    assert result.stdout == (
        f"ok       python  3.11\n{state:<7}  disk    as it is\n                 → mend it\n"
    )


def test_json_holds_every_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        examination, "examine", lambda: [Finding("disk", "problem", "full", "free it")]
    )
    result = CliRunner().invoke(cli.cli, ["doctor", "--json"])
    assert json.loads(result.stdout) == {
        "findings": [{"check": "disk", "state": "problem", "message": "full", "remedy": "free it"}]
    }


def test_a_sound_machine_has_no_problems() -> None:
    assert [found for found in examination.examine() if found.state == "problem"] == []
