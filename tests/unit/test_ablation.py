"""An ablation tells what each format and each corpus brings, by replaying the same edits."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from copydraft.errors import BadRequest
from copydraft.evaluation import inputs
from copydraft.evaluation.ablation import CORPORA, FORMATS, Row
from copydraft.evaluation.ablation_command import ablation_command
from copydraft.evaluation.edit_task import EditTask
from copydraft.evaluation.plots import draw_formats
from copydraft.evaluation.sessions import Session, Text

QUOTING = "".join(f'\tsay("{name}")\n' for name in ("quick", "brown", "foxes", "jump", "over"))
HELPER = 'def helper(value):\n\treturn "wholly new text, which is in another file"\n'


def task(path: str) -> EditTask:
    return EditTask(
        repo="project",
        commit="0123456789ab",
        path=path,
        instruction="help",
        start=0,
        end=5,
        before=QUOTING,
        after=QUOTING + HELPER,
        file=QUOTING,
    )


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """One session; what its turn writes is in another file."""
    texts = [Text("quoting", QUOTING), Text("helper", HELPER)]
    files = {"a.py": "quoting", "helper.py": "helper"}
    session = Session(repo="project", commit="0123456789ab", turns=[task("a.py")], files=files)
    path = tmp_path / "sessions.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in [*texts, session]))
    return path


def run(path: Path, model: Path, *more: str) -> dict[tuple[str, str, str], Row]:
    arguments = [str(path), "--gguf", str(model), "--cost", "flat", "--json", *more]
    result = CliRunner().invoke(ablation_command, arguments, catch_exceptions=False)
    rows = [Row(**row) for row in json.loads(result.output)]
    return {(row.format, row.text, row.corpora): row for row in rows}


def test_every_format_is_replayed_with_each_index_and_corpus(
    sessions: Path, dense_model: Path
) -> None:
    rows = run(sessions, dense_model)
    assert rows.keys() == {
        (name, index, corpora)
        for name in FORMATS
        for index in ("emission", "raw")
        for corpora in CORPORA
    }
    assert set(FORMATS) == {"fence", "search-replace", "unified-diff", "tool-call"}


def test_a_tool_call_is_drafted_better_from_text_as_it_prints_it(
    sessions: Path, dense_model: Path
) -> None:
    rows = run(sessions, dense_model, "--formats", "tool-call")
    printed, raw = (
        rows["tool-call", index, "workspace"].tokens_per_pass for index in ("emission", "raw")
    )
    assert printed > raw


def test_the_workspace_is_drafted_from_where_it_is_not_left_out(
    sessions: Path, dense_model: Path
) -> None:
    rows = run(sessions, dense_model, "--formats", "fence")
    assert "workspace" not in rows["fence", "emission", "session"].accepted
    assert rows["fence", "emission", "workspace"].accepted["workspace"] > 0


def test_libraries_are_drafted_from_as_global(
    sessions: Path, dense_model: Path, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "helper.py").write_text(HELPER)
    lines = sessions.read_bytes().splitlines(keepends=True)
    sessions.write_bytes(b"".join(lines).replace(b'"helper.py":"helper"', b'"b.py":"quoting"'))
    rows = run(sessions, dense_model, "--formats", "fence", "--global", str(library))
    assert rows["fence", "emission", "global"].accepted["global"] > 0


def test_edit_tasks_and_sessions_are_told_apart(tmp_path: Path, sessions: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_bytes(msgspec.json.encode(task("a.py")) + b"\n")
    assert (inputs.holds_sessions(sessions), inputs.holds_tasks(sessions)) == (True, False)
    assert (inputs.holds_sessions(tasks), inputs.holds_tasks(tasks)) == (False, True)


def test_replayed_sessions_have_their_workspace_and_tasks_only_if_asked(
    tmp_path: Path, sessions: Path, dense_model: Path
) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_bytes(msgspec.json.encode(task("a.py")) + b"\n")
    for path, workspace, has in (
        (sessions, False, True),
        (tasks, False, False),
        (tasks, True, True),
    ):
        loaded = inputs.load([path], dense_model, workspace=workspace, libraries=[])
        [trace] = loaded.traces
        assert (loaded.search_of(trace) is not None) == has


def test_sessions_need_a_tokenizer(sessions: Path) -> None:
    with pytest.raises(BadRequest, match="need a tokenizer"):
        inputs.load([sessions], None, workspace=False, libraries=[])


def test_an_ablation_is_drawn_with_its_formats(tmp_path: Path) -> None:
    rows = [
        Row(name, index, corpora, "flat", 2.0, 1.5, {})
        for name in FORMATS
        for index in ("emission", "raw")
        for corpora in CORPORA
    ]
    draw_formats(rows, tmp_path / "formats.svg")
    drawn = (tmp_path / "formats.svg").read_text()
    assert all(name in drawn for name in (*FORMATS, "text as in files", "tokens per pass"))
