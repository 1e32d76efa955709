"""Edits are mined from a git history: regions of about forty lines, written by people."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from copydraft.errors import BadRequest
from copydraft.evaluation import mine
from copydraft.evaluation.commands import mine_command
from copydraft.evaluation.traces import EditTask

LINES = [f"value_{number} = {number}\n" for number in range(100)]


class Repository:
    """A git repository that grows by one file's text at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> None:
        person = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", self.path, *person, *arguments], check=True)

    def commit(self, name: str, text: str | bytes, subject: str = "change something here") -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        self.git("add", "--all")
        self.git("commit", "--quiet", f"--message={subject}")

    def edits(self, limit: int = 100) -> list[EditTask]:
        return list(mine.edits(self.path, limit))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "project")


def changed(lines: list[str], at: int, *new: str) -> str:
    return "".join([*lines[:at], *new, *lines[at + 1 :]])


def test_an_edit_has_the_region_before_and_after(repository: Repository) -> None:
    repository.commit("a.py", "".join(LINES))
    repository.commit("a.py", changed(LINES, 50, "new = 1\n", "newer = 2\n"), "replace a value")
    (edit,) = repository.edits()
    assert (edit.repo, edit.path, edit.instruction) == ("project", "a.py", "replace a value")
    assert edit.file == "".join(LINES)
    assert edit.before == "".join(LINES[edit.start : edit.end])
    assert edit.after == edit.before.replace("value_50 = 50\n", "new = 1\nnewer = 2\n")
    assert len(edit.commit) == 12


@pytest.mark.parametrize(
    ("first", "last", "start", "end"),
    [(50, 50, 31, 70), (50, 52, 32, 71), (40, 79, 34, 86), (0, 0, 0, 20), (99, 99, 80, 100)],
)
def test_a_region_has_forty_lines_or_six_around_a_long_change(
    repository: Repository, first: int, last: int, start: int, end: int
) -> None:
    repository.commit("a.py", "".join(LINES))
    new = [f"other_{number} = 1\n" for number in range(first, last + 1)]
    repository.commit("a.py", "".join([*LINES[:first], *new, *LINES[last + 1 :]]))
    (edit,) = repository.edits()
    assert (edit.start, edit.end) == (start, end)


def test_changes_close_together_share_a_region(repository: Repository) -> None:
    repository.commit("a.py", "".join(LINES))
    text = changed(LINES, 40, "new = 1\n").replace("value_55 = 55", "newer = 2")
    repository.commit("a.py", text)
    (edit,) = repository.edits()
    assert (edit.start, edit.end) == (28, 68)


def test_changes_far_apart_are_no_single_edit(repository: Repository) -> None:
    repository.commit("a.py", "".join(LINES))
    repository.commit("a.py", changed(LINES, 2, "new = 1\n").replace("value_97 = 97", "newer = 2"))
    assert repository.edits() == []


def test_the_newest_edits_come_first_up_to_the_limit(repository: Repository) -> None:
    repository.commit("a.py", "".join(LINES))
    for number in range(3):
        repository.commit(
            "a.py", changed(LINES, number, f"new_{number} = 1\n"), f"change no. {number}"
        )
    instructions = [edit.instruction for edit in repository.edits(limit=2)]
    assert instructions == ["change no. 2", "change no. 1"]


def test_a_commit_gives_one_edit(repository: Repository) -> None:
    (repository.path / "b.py").write_text("".join(LINES))
    repository.commit("a.py", "".join(LINES))
    (repository.path / "b.py").write_text(changed(LINES, 5, "new = 1\n"))
    repository.commit("a.py", changed(LINES, 5, "new = 1\n"))
    assert [edit.path for edit in repository.edits()] == ["a.py"]


def test_mining_twice_gives_the_same(repository: Repository) -> None:
    repository.commit("a.py", "".join(LINES))
    repository.commit("a.py", changed(LINES, 5, "new = 1\n"))
    repository.commit("a.py", changed(LINES, 9, "new = 1\n"))
    assert repository.edits() == repository.edits()


def test_line_ends_are_kept(repository: Repository) -> None:
    lines = [line.replace("\n", "\r\n") for line in LINES]
    repository.commit("a.py", "".join(lines))
    repository.commit("a.py", changed(lines, 50, "new = 1\r\n"))
    (edit,) = repository.edits()
    assert edit.before == "".join(lines[31:70])


@pytest.mark.parametrize(
    "name", ["vendor/a.py", "web/node_modules/a.js", "a_pb2.py", "a.min.js", "a.bin"]
)
def test_what_nobody_wrote_here_is_left_out(repository: Repository, name: str) -> None:
    repository.commit(name, "".join(LINES))
    repository.commit(name, changed(LINES, 50, "new = 1\n"))
    assert repository.edits() == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: "# Code generated by a tool. DO NOT EDIT.\n" + text,
        lambda text: text + "\0",
        lambda text: text.encode() + b"\xff",
        lambda text: text + "x" * 60_000,
    ],
    ids=["generated", "binary", "not UTF-8", "huge"],
)
def test_files_that_are_no_hand_written_text_are_left_out(
    repository: Repository, spoil: Callable[[str], str | bytes]
) -> None:
    repository.commit("a.py", spoil("".join(LINES)))
    repository.commit("a.py", spoil(changed(LINES, 50, "new = 1\n")))
    assert repository.edits() == []


def test_a_subject_that_says_nothing_is_no_instruction(repository: Repository) -> None:
    repository.commit("a.py", "".join(LINES))
    repository.commit("a.py", changed(LINES, 50, "new = 1\n"), "wip")
    assert repository.edits() == []


def test_merges_are_left_out(repository: Repository) -> None:
    repository.commit("a.py", "".join(LINES))
    repository.git("checkout", "--quiet", "-b", "side")
    repository.commit("a.py", changed(LINES, 50, "new = 1\n"), "change on the side")
    repository.git("checkout", "--quiet", "main")
    repository.commit("b.py", "".join(LINES))
    repository.git("merge", "--quiet", "--no-edit", "side", "--message=merge the side branch")
    assert [edit.instruction for edit in repository.edits()] == ["change on the side"]


def test_a_directory_without_a_repository_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="not a git repository"):
        list(mine.edits(tmp_path, 1))


def test_a_repository_without_a_commit_is_refused(repository: Repository) -> None:
    with pytest.raises(BadRequest, match="git cannot read"):
        repository.edits()


def test_the_command_writes_one_json_object_a_line(repository: Repository) -> None:
    repository.commit("a.py", "".join(LINES))
    repository.commit("a.py", changed(LINES, 50, "new = 1\n"))
    repository.commit("a.py", "".join(LINES))
    result = CliRunner().invoke(mine_command, [str(repository.path)])
    tasks = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(task["start"], task["end"]) for task in tasks] == [(31, 70), (31, 70)]
