"""Workspaces, their libraries and their open buffers, searched as one and kept apart."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from copydraft.index.corpora import Workspace
from copydraft.index.tokenizing import PLAIN, Printing
from tests.fixtures.corpora import WORDS, Make, corpora_in, found, opened, until, write

LOUD = Printing("loud", "new", str.upper)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Call it for corpora in the test's one database."""
    with corpora_in(tmp_path) as make:
        yield make


def test_a_workspaces_files_are_found_once_they_are_indexed(make: Make, tmp_path: Path) -> None:
    root = write(tmp_path / "w", a="one two three", b="four five six")
    workspace = opened(make(), root)
    search = workspace.search()
    [match] = search.longest_matches(WORDS.encode_one("one two"), 8)
    assert (match.document.corpus, match.document.path, match.document.field) == (
        "workspace",
        "a.txt",
        "file",
    )
    assert search.following(match, 8) == WORDS.encode_one(" three")


def test_a_workspace_answers_at_once_though_nothing_is_indexed(make: Make, tmp_path: Path) -> None:
    workspace = make().workspace(write(tmp_path / "w", a="one two three"))
    workspace.open_buffer("b.txt", 1, "four five six")
    assert found(workspace, "four five") == {("buffer", "b.txt")}


def test_no_workspace_drafts_for_another(make: Make, tmp_path: Path) -> None:
    corpora = make()
    one = opened(corpora, write(tmp_path / "one", a="one two three"))
    other = opened(corpora, write(tmp_path / "other", b="four five six"))
    one.open_buffer("c.txt", 1, "seven eight nine")
    assert found(one, "one two") == {("workspace", "a.txt")}
    assert found(one, "four five") == set()
    assert found(other, "one two") == set()
    assert found(other, "seven eight") == set()


def test_a_workspace_inside_another_has_its_own_text_only(make: Make, tmp_path: Path) -> None:
    corpora = make()
    outer = write(tmp_path / "w", a="one two three")
    inner = opened(corpora, write(outer / "inner", b="four five six"))
    assert found(inner, "one two") == set()
    assert found(opened(corpora, outer), "four five") == {("workspace", "inner/b.txt")}


def test_the_index_outlives_the_daemon(make: Make, tmp_path: Path) -> None:
    root = write(tmp_path / "w", a="one two three")
    first = make()
    opened(first, root)
    first.close()
    second = make()
    workspace = opened(second, root)
    assert found(workspace, "one two") == {("workspace", "a.txt")}


def test_each_format_has_its_own_tokens(make: Make, tmp_path: Path) -> None:
    workspace = opened(make(PLAIN, LOUD), write(tmp_path / "w", a="one two three"))
    workspace.open_buffer("b.txt", 1, "four five six")
    assert found(workspace, "one two", "plain") == {("workspace", "a.txt")}
    assert found(workspace, "one two", "loud") == set()
    assert found(workspace, "ONE TWO", "loud") == {("workspace", "a.txt")}
    assert found(workspace, "FOUR FIVE", "loud") == {("buffer", "b.txt")}


# --- buffers ---


@pytest.fixture
def workspace(make: Make, tmp_path: Path) -> Workspace:
    return opened(make(), write(tmp_path / "w", a="one two three", b="four five six"))


def test_an_open_buffer_stands_for_its_file_until_it_is_closed(workspace: Workspace) -> None:
    workspace.open_buffer("a.txt", 1, "one zwei drei")
    assert found(workspace, "one two") == set()
    assert found(workspace, "one zwei") == {("buffer", "a.txt")}
    assert found(workspace, "four five") == {("workspace", "b.txt")}
    workspace.close_buffer("a.txt")
    workspace.close_buffer("a.txt")
    assert found(workspace, "one two") == {("workspace", "a.txt")}


def test_a_change_can_be_drafted_from_at_once(workspace: Workspace) -> None:
    workspace.open_buffer("a.txt", 1, "one two three")
    workspace.open_buffer("a.txt", 2, "one 21 half three")
    assert found(workspace, "one 21 half") == {("buffer", "a.txt")}
    [match] = workspace.search().longest_matches(WORDS.encode_one("one 21 half"), 1)
    assert match.document.version == 2


def test_a_search_keeps_its_moment(workspace: Workspace) -> None:
    workspace.open_buffer("a.txt", 1, "one two three")
    search = workspace.search()
    workspace.open_buffer("a.txt", 2, "")
    assert search.longest_matches(WORDS.encode_one("one two"), 8)
    assert found(workspace, "one two") == set()


# --- the disk ---


def test_changes_on_the_disk_are_followed_and_told_as_edits(make: Make, tmp_path: Path) -> None:
    corpora = make(watch=True)
    root = write(tmp_path / "w", a="one two three")
    workspace = opened(corpora, root)
    until(lambda: bool(found(workspace, "one two")))

    def changed() -> bool:
        # The watch begins some time after the start: write until it is noticed.
        (root / "a.txt").write_text(f"one two four {time.monotonic()}")
        time.sleep(0.1)
        return ("workspace", "a.txt") in found(workspace, "one two four")

    until(changed)
    until(lambda: [e.path for e in workspace.edits.latest()] == ["a.txt"])
    assert workspace.edits.latest()[0].old == "one two three"
    (root / "a.txt").unlink()
    until(lambda: not found(workspace, "one two"))


def test_a_file_that_has_become_a_link_is_not_read_for_its_edits(
    make: Make, tmp_path: Path
) -> None:
    root = write(tmp_path / "w", a="one two three", b="four five six")
    first = make()
    opened(first, root)
    first.close()
    write(tmp_path / "elsewhere", a="seven eight nine")
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to(tmp_path / "elsewhere" / "a.txt")
    workspace = opened(make(), root)
    for name in ("a.txt", "b.txt"):
        workspace.edits.seen(name, "another text", 0.0)
    assert [(edit.path, edit.old) for edit in workspace.edits.latest()] == [
        ("b.txt", "four five six")
    ]


def test_what_another_process_indexed_is_taken_in(make: Make, tmp_path: Path) -> None:
    root = write(tmp_path / "w", a="one two three")
    one, other = make(), make()
    workspace = opened(one, root)
    write(root, b="four five six")
    opened(other, root)
    until(lambda: bool(found(workspace, "four five")))


def test_a_killed_indexing_process_costs_a_warning_and_is_started_again(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    corpora = make()
    root = write(tmp_path / "w", a="one two three")
    workspace = opened(corpora, root)
    pid = corpora.queue.worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    write(root, b="four five six")
    workspace.update(only=[root / "b.txt"])
    assert corpora.settle(60)
    workspace.update(only=[root / "b.txt"])
    assert corpora.settle(60)
    until(lambda: bool(found(workspace, "four five")))


def test_a_database_that_is_damaged_while_it_is_used_is_built_anew(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    corpora = make()
    workspace = opened(corpora, write(tmp_path / "w", a="one two three"))
    corpora.cache.path.write_bytes(b"no database" * 1000)
    corpora.refresh()
    assert corpora.settle(60)
    until(lambda: bool(found(workspace, "one two")))
    assert "is damaged" in caplog.text


def test_without_a_disk_buffers_are_still_drafted_from(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("in the way")
    workspace = opened(make(), write(tmp_path / "w", a="one two three"))
    workspace.open_buffer("b.txt", 1, "four five six")
    assert found(workspace, "four five") == {("buffer", "b.txt")}
    assert found(workspace, "one two") == set()
    assert "cannot make" in caplog.text


def test_a_closed_workspace_is_let_go(make: Make, tmp_path: Path) -> None:
    corpora = make()
    root = write(tmp_path / "w", a="one two three")
    workspace = opened(corpora, root)
    corpora.close_workspace(root)
    corpora.close_workspace(root)
    assert corpora.settle(60)
    assert found(workspace, "one two") == set()
    assert corpora.workspace(root) is not workspace


class SlowWatcher:
    """Notes who ends it and who waits for its end, which takes a while."""

    def __init__(self, root: Path, on_change: object) -> None:
        self._name = root.name

    def start(self) -> None:
        pass

    def end(self) -> None:
        NOTED.append(("ended", self._name, ""))

    def stop(self) -> None:
        NOTED.append(("waited for", self._name, threading.current_thread().name))


NOTED: list[tuple[str, str, str]] = []


def test_all_watches_are_ended_before_any_is_waited_for(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydraft.index.corpora.Watcher", SlowWatcher)
    NOTED.clear()
    corpora = make()
    for name in ("one", "two"):
        corpora.workspace(write(tmp_path / name))
    corpora.close()
    assert [(done, name) for done, name, _ in NOTED] == [
        *(("ended", "one"), ("ended", "two")),
        *(("waited for", "one"), ("waited for", "two")),
    ]


def test_who_lets_a_workspace_go_does_not_wait_for_it(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydraft.index.corpora.Watcher", SlowWatcher)
    NOTED.clear()
    corpora = make()
    root = write(tmp_path / "one")
    corpora.workspace(root)
    corpora.close_workspace(root)
    assert corpora.settle(60)
    [(_, _, thread)] = [each for each in NOTED if each[0] == "waited for"]
    assert thread.startswith("index-reader")


def test_a_checkout_is_no_edit_and_new_rules_hide_files(make: Make, tmp_path: Path) -> None:
    corpora = make()
    names = [f"f{number}" for number in range(60)]
    root = write(tmp_path / "w", **dict.fromkeys(names, "one two three"))
    workspace = opened(corpora, root)
    until(lambda: len(found(workspace, "one two")) == 60)
    write(root, **dict.fromkeys(names, "one two four six"))
    workspace._changed({root / f"{name}.txt" for name in names} | {tmp_path / "outside"})
    write(root, f7="one two five")
    workspace._changed({root / "f7.txt"})
    (root / ".gitignore").write_text("f8.txt\n")
    workspace._changed({root / ".gitignore"})
    assert corpora.settle(60)
    assert workspace.edits.latest() == []
    until(lambda: len(found(workspace, "one two four")) == 58)
