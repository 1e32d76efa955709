"""Answers of a real engine are recorded as traces: by the script, and by the daemon's setting."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from queue import Queue

import pytest
from click.testing import CliRunner

from copydraft import paths
from copydraft.config import Config
from copydraft.drafting.profile import defaults
from copydraft.errors import DiskProblem
from copydraft.evaluation.commands import record_command
from copydraft.evaluation.drafters import DRAFTERS
from copydraft.evaluation.profile_command import profile_command
from copydraft.evaluation.replay import passes
from copydraft.evaluation.traces import read
from copydraft.index.store import StateStore
from copydraft.protocol import EditRequest, EditResult, Event, Region
from copydraft.serving.scheduler import Scheduler
from copydraft.serving.service import NoCosts
from tests.fixtures.indexed import workspaces_in
from tests.fixtures.repository import Repository
from tests.unit.test_mine import LINES, changed

TEXT = "alpha = 1\nbeta = 2\nprint(alpha + beta)\n"
ANSWER = "\nalpha = 1\nbeta = 3\nprint(alpha + beta)\n```"


@pytest.fixture
def model(answering_model: Callable[..., Path]) -> Path:
    return answering_model(ANSWER, after="```python")


def tasks(tmp_path: Path, *repos: str) -> Path:
    row = {"commit": "c", "path": "a.py", "instruction": "set beta to 3", "start": 0, "end": 3}
    texts = {"before": TEXT, "after": TEXT.replace("2", "3"), "file": TEXT}
    file = tmp_path / "tasks.jsonl"
    file.write_text("".join(json.dumps({**row, **texts, "repo": repo}) + "\n" for repo in repos))
    return file


def repository(tmp_path: Path) -> Repository:
    """One with as many edits as can be learned from."""
    made = Repository(tmp_path / "project")
    made.commit("a.py", "".join(LINES))
    text = LINES
    for number in range(8):
        text = changed(text, 50, f"new_value = {number}\n").splitlines(keepends=True)
        made.commit("a.py", "".join(text), f"replace a value again {number}")
    return made


def record(tmp_path: Path, model: Path, *repos: str) -> str:
    arguments = [tasks(tmp_path, *repos), "--model", model, "--out", tmp_path / "traces.jsonl"]
    result = CliRunner().invoke(record_command, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stderr


def test_a_recorded_answer_can_be_replayed(tmp_path: Path, model: Path) -> None:
    record(tmp_path, model, "one")
    (trace,) = read(tmp_path / "traces.jsonl", None)
    assert (trace.kind, trace.repo) == ("edit", "one")
    drafter = DRAFTERS["copydraft"].start([1.0] * 64)(trace)
    assert sum(done.written for done in passes(trace, drafter, 63)) == len(trace.output)


def test_the_likeliest_tokens_after_each_token_are_kept_and_begin_with_the_one_taken(
    tmp_path: Path, model: Path
) -> None:
    record(tmp_path, model, "one")
    (trace,) = read(tmp_path / "traces.jsonl", None)
    assert [likely[0] for likely in trace.top8] == trace.output[1:]
    assert {len(likely) for likely in trace.top8} == {8}


def test_an_interrupted_recording_goes_on_where_it_stopped(tmp_path: Path, model: Path) -> None:
    record(tmp_path, model, "one")
    said = record(tmp_path, model, "one", "two")
    assert "1 of 2" not in said
    assert "2 of 2" in said
    assert [trace.repo for trace in read(tmp_path / "traces.jsonl", None)] == ["one", "two"]


def test_a_line_that_was_cut_off_is_recorded_again(tmp_path: Path, model: Path) -> None:
    record(tmp_path, model, "one", "two")
    file = tmp_path / "traces.jsonl"
    file.write_bytes(file.read_bytes()[:-40])
    record(tmp_path, model, "one", "two")
    assert [trace.repo for trace in read(file, None)] == ["one", "two"]


def test_recording_into_what_holds_no_traces_is_refused(tmp_path: Path, model: Path) -> None:
    arguments = [str(tasks(tmp_path, "one")), "--model", str(model), "--out"]
    (tmp_path / "other").write_text("not a trace\n")
    for out, message in ((tmp_path / "other", "holds no traces"), (tmp_path, "cannot read")):
        result = CliRunner().invoke(record_command, [*arguments, str(out)])
        assert message in str(result.exception)
    assert (tmp_path / "other").read_text() == "not a trace\n"


def test_a_profile_that_cannot_be_kept_is_a_fault(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(paths, "state_database", lambda: tmp_path / "file" / "state.db")
    result = CliRunner().invoke(
        profile_command, ["--repo", str(repository(tmp_path).path), "--model", str(model)]
    )
    assert isinstance(result.exception, DiskProblem)


@pytest.mark.parametrize("on", [True, False])
def test_the_daemon_records_requests_only_where_the_user_has_said_so(
    model: Path, on: bool, tmp_path: Path
) -> None:
    config = Config(model=str(model), context=1024, threads=1, record=on)
    store = StateStore(tmp_path / "state.db")
    scheduler = Scheduler(
        config,
        record=lambda _: None,
        costs=NoCosts(),
        profiles=store,
        workspaces=workspaces_in(tmp_path),
    )
    ended: Queue[Event] = Queue()
    region = Region(path="a.py", text=TEXT, start=0, end=3)
    scheduler.submit(EditRequest(region=region, instruction="set beta to 3"), ended.put)
    while not isinstance(ended.get(timeout=30), EditResult):
        pass
    scheduler.stop()
    store.close()
    file = paths.traces_file()
    assert file.exists() == on
    if on:
        assert [trace.kind for trace in read(file, None)] == ["edit"]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_profile_is_learned_from_a_repository_and_kept(tmp_path: Path, model: Path) -> None:
    result = CliRunner().invoke(
        profile_command, ["--repo", str(repository(tmp_path).path), "--model", str(model), "--json"]
    )
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    told = json.loads(result.stdout)
    assert told["edits"] == 8
    assert told["speedup"]["cpu"].keys() == {"shipped", "learned"}
    store = StateStore(paths.state_database())
    saved = json.loads(store.load_profiles()["edit"])
    store.close()
    assert saved["weights"] == told["profiles"]["edit"]["weights"]
    assert saved["weights"] != defaults()["edit"].weights


def test_a_repository_with_too_few_edits_is_refused(tmp_path: Path, model: Path) -> None:
    few = Repository(tmp_path / "project")
    few.commit("a.py", "".join(LINES))
    result = CliRunner().invoke(profile_command, ["--repo", str(few.path), "--model", str(model)])
    assert "0 edits" in str(result.exception)
