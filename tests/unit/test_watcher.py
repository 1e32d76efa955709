"""The watcher tells of changed files, and of the whole root where it cannot see them."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import watchfiles

from copydraft.workspace.watcher import Watcher

Told = Callable[[Path], set[Path]]


@pytest.fixture
def changes() -> queue.Queue[set[Path]]:
    return queue.Queue()


@contextmanager
def watched(root: Path, changes: queue.Queue[set[Path]]) -> Iterator[Told]:
    """Call it with a path: returns all that was told once that path was."""
    watcher = Watcher(root, changes.put)
    watcher.start()
    # The watch begins some time after the start: write until it is noticed.
    probe = root / "probe"
    for number in range(100):
        probe.write_text(f"{number}")
        try:
            changes.get(timeout=0.2)
            break
        except queue.Empty:
            continue

    def told(path: Path) -> set[Path]:
        found: set[Path] = set()
        while path not in found:
            found |= changes.get(timeout=20)
        return found

    yield told
    watcher.stop()


@pytest.fixture
def watching(tmp_path: Path, changes: queue.Queue[set[Path]]) -> Iterator[Told]:
    with watched(tmp_path, changes) as told:
        yield told


def test_new_changed_and_deleted_files_are_told(tmp_path: Path, watching: Told) -> None:
    path = tmp_path / "sub" / "a.py"
    path.parent.mkdir()
    watching(path.parent)
    path.write_text("one")
    watching(path)
    path.write_text("two")
    watching(path)
    path.unlink()
    watching(path)


def test_a_root_inside_of_an_environment_is_watched(
    tmp_path: Path, changes: queue.Queue[set[Path]]
) -> None:
    root = tmp_path / ".venv" / "src" / "package"
    (root / ".venv").mkdir(parents=True)
    with watched(root, changes) as told:
        (root / ".venv" / "b.py").write_text("one")
        (root / "a.py").write_text("one")
        assert root / ".venv" / "b.py" not in told(root / "a.py")


def test_a_fault_in_what_is_told_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    calls: queue.Queue[set[Path]] = queue.Queue()

    def fail(paths: set[Path]) -> None:
        calls.put(paths)
        raise RuntimeError("no")

    watcher = Watcher(tmp_path / "gone", fail, retry_s=0.01)
    watcher.start()
    calls.get(timeout=20)
    calls.get(timeout=20)
    watcher.stop()
    assert "was not taken in" in caplog.text


def test_where_nothing_can_be_watched_the_root_is_told_again_and_again(
    tmp_path: Path,
    changes: queue.Queue[set[Path]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(*paths: Path, **options: object) -> Iterator[set[tuple[int, str]]]:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr(watchfiles, "watch", refuse)
    watcher = Watcher(tmp_path, changes.put, retry_s=0.01)
    watcher.start()
    assert changes.get(timeout=20) == {tmp_path}
    assert changes.get(timeout=20) == {tmp_path}
    watcher.stop()
    assert caplog.text.count("watch limit reached") == 1


def test_a_watcher_that_never_started_can_be_stopped(tmp_path: Path) -> None:
    Watcher(tmp_path, lambda paths: None).stop()
