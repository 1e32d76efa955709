"""Sessions: commits to several files, with the text that was around them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from copydraft.errors import BadRequest
from copydraft.evaluation import sessions
from copydraft.evaluation.commands import mine_command
from copydraft.evaluation.edit_task import EditTask
from copydraft.evaluation.sessions import Session, Text
from tests.fixtures.repository import Repository

LINES = "".join(f"value_{number} = {number}\n" for number in range(100))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "project")


def commit(repository: Repository, files: dict[str, str], subject: str = "change it all") -> None:
    for name, text in files.items():
        (repository.path / name).write_text(text)
    [*_, last] = files
    repository.commit(last, files[last], subject)


def mined(repository: Repository, limit: int = 100) -> tuple[dict[str, str], list[Session]]:
    records = list(sessions.mined(repository.path, limit))
    texts = {record.name: record.text for record in records if isinstance(record, Text)}
    return texts, [record for record in records if isinstance(record, Session)]


def task(repo: str, path: str, file: str = LINES) -> EditTask:
    return EditTask(
        repo=repo,
        commit="0123456789ab",
        path=path,
        instruction="change it",
        start=0,
        end=1,
        before="value_0 = 0\n",
        after="value_0 = 1\n",
        file=file,
    )


def test_a_session_has_a_turn_for_each_file_of_a_commit(repository: Repository) -> None:
    commit(repository, {"a.py": LINES, "b.py": LINES})
    commit(repository, {name: LINES.replace("= 50", "= 51") for name in ("a.py", "b.py")})
    _, [session] = mined(repository)
    assert [turn.path for turn in session.turns] == ["a.py", "b.py"]
    assert {turn.instruction for turn in session.turns} == {"change it all"}
    assert all("value_50 = 51\n" in turn.after for turn in session.turns)


def test_a_commit_to_one_file_is_no_session(repository: Repository) -> None:
    commit(repository, {"a.py": LINES, "b.py": LINES})
    commit(repository, {"a.py": LINES.replace("= 50", "= 51")})
    assert mined(repository) == ({}, [])


def test_the_workspace_is_the_text_before_the_commit(repository: Repository) -> None:
    commit(repository, {"a.py": LINES, "b.py": LINES, "notes.txt": "as it was\n"})
    changed = LINES.replace("= 50", "= 51")
    commit(repository, {"a.py": changed, "b.py": changed, "notes.txt": "later\n"})
    texts, [session] = mined(repository)
    workspace = {path: texts[name] for path, name in session.files.items()}
    assert workspace == {"a.py": LINES, "b.py": LINES, "notes.txt": "as it was\n"}


def test_binary_and_large_files_are_no_part_of_a_workspace(repository: Repository) -> None:
    (repository.path / "image").write_bytes(b"\0\1")
    commit(repository, {"large": "x" * 300_000, "a.py": LINES, "b.py": LINES})
    commit(repository, {name: LINES.replace("= 50", "= 51") for name in ("a.py", "b.py")})
    _, [session] = mined(repository)
    assert session.files.keys() == {"a.py", "b.py"}


def test_the_newest_sessions_are_taken_and_the_oldest_comes_first(repository: Repository) -> None:
    commit(repository, {"a.py": LINES, "b.py": LINES})
    for number in range(3):
        text = LINES.replace("= 50", f"= 5{number + 1}")
        commit(repository, {"a.py": text, "b.py": text}, f"change number {number}")
    _, found = mined(repository, limit=2)
    assert [session.turns[0].instruction for session in found] == [
        "change number 1",
        "change number 2",
    ]


def test_sessions_survive_being_written_and_read(repository: Repository, tmp_path: Path) -> None:
    commit(repository, {"a.py": LINES, "b.py": LINES})
    commit(repository, {name: LINES.replace("= 50", "= 51") for name in ("a.py", "b.py")})
    out = tmp_path / "sessions.jsonl"
    arguments = [str(repository.path), "--sessions", "--out", str(out)]
    result = CliRunner().invoke(mine_command, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert sessions.read(out) == mined(repository)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (json.dumps({"kind": "edit"}).encode(), "line 1 is no session"),
        (
            msgspec.json.encode(
                Session(repo="r", commit="c", turns=[task("r", "a.py")], files={"a.py": "gone"})
            ),
            "names a text that is not there",
        ),
        (msgspec.json.encode(Text("name", "text")), "holds no sessions"),
    ],
)
def test_what_is_no_session_is_refused(tmp_path: Path, line: bytes, fault: str) -> None:
    path = tmp_path / "sessions.jsonl"
    path.write_bytes(line + b"\n")
    with pytest.raises(BadRequest, match=fault):
        sessions.read(path)


def test_tasks_have_the_files_of_their_repository_around_them() -> None:
    tasks = [task("one", "a.py", "a\n"), task("one", "b.py", "b\n"), task("two", "a.py", "c\n")]
    texts, found = sessions.of_tasks(tasks)
    around = [{path: texts[name] for path, name in of.files.items()} for of in found]
    assert around == [{"a.py": "a\n", "b.py": "b\n"}] * 2 + [{"a.py": "c\n"}]
    assert [of.turns for of in found] == [[each] for each in tasks]
