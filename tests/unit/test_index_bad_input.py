"""An index in bad circumstances: files that change as they are read, no handles, odd clocks."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import Any

import pytest

from copydraft.errors import CopydraftError, DiskProblem, FileProblem
from copydraft.index import ingest, shards
from copydraft.index.cache import IndexCache
from copydraft.workspace.documents import DocumentFile, read_document
from copydraft.workspace.scanner import FoundFile, Scanner
from tests.unit.test_ingest import WORDS, Index

YEARS = 10 * 365 * 24 * 3600


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


@pytest.fixture
def index(root: Path, tmp_path: Path) -> Index:
    return Index(root, tmp_path / "cache" / "index.db")


def meanwhile(monkeypatch: pytest.MonkeyPatch, happens: Any) -> None:
    """Something happens between finding the files and reading the first of them."""
    read = read_document
    todo = [happens]

    def reading(path: Path) -> DocumentFile:
        while todo:
            todo.pop()()
        return read(path)

    monkeypatch.setattr(ingest, "read_document", reading)


# --- files ---


def test_a_file_that_changes_after_it_was_found_is_indexed_as_it_is_in_the_end(
    root: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("old text")
    meanwhile(monkeypatch, lambda: (root / "a").write_text("new text"))
    index.update()
    (root / "a").write_text("last text")
    index.update()
    assert index.contents() == {"a": WORDS.encode_one("last text")}


def test_a_file_that_becomes_a_directory_after_it_was_found_is_left_out(
    root: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (root / name).write_text(name)

    def become_directory() -> None:
        (root / "a").unlink()
        (root / "a").mkdir()
        (root / "a" / "inside").write_text("inside")

    meanwhile(monkeypatch, become_directory)
    index.update()
    assert index.paths() == {"b"}
    index.update()
    assert index.paths() == {"a/inside", "b"}


def test_a_file_that_grows_to_a_gigabyte_after_it_was_found_is_not_read(
    root: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("text")
    (root / "b").write_text("text")
    meanwhile(monkeypatch, lambda: os.truncate(root / "a", 1 << 30))  # a hole: no disk is filled
    index.update()
    assert index.paths() == {"b"}


def test_a_directory_that_vanishes_during_the_scan_is_forgotten_by_the_next(
    root: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "a").write_text("text")
    (root / "b").write_text("text")

    def vanish() -> None:
        (root / "sub" / "a").unlink()
        (root / "sub").rmdir()

    meanwhile(monkeypatch, vanish)
    index.update()
    index.update()
    assert index.paths() == {"b"}


def test_a_hundred_thousand_files_are_noted_in_few_transactions_and_known_again(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [FoundFile(f"d{number // 1000}/f{number}", 4, 1, 1) for number in range(100_000)]
    monkeypatch.setattr(Scanner, "scan", lambda _: iter(files))

    def no_text(path: Path) -> DocumentFile:
        raise FileProblem(f"{path} is binary", "name a text file")

    monkeypatch.setattr(ingest, "read_document", no_text)
    replace, written = shards.replace, []

    def counting(db: Any, corpus: int, files: Any, *rest: Any) -> None:
        written.append(len(files))
        replace(db, corpus, files, *rest)

    monkeypatch.setattr(shards, "replace", counting)
    index.update()
    assert written == [5000] * 20
    index.update()
    assert written == [5000] * 20


# --- file handles ---


def test_without_file_handles_the_index_is_a_disk_problem_until_there_are_some(
    root: Path, index: Index
) -> None:
    (root / "a").write_text("text")
    index.update()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
        for use in (index.update, index.contents):
            with pytest.raises(CopydraftError, match="Too many open files"):
                use()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    index.update()
    assert index.paths() == {"a"}


# --- clocks ---


@pytest.mark.parametrize("jump", [YEARS, -YEARS])
def test_a_clock_that_jumps_costs_no_more_than_another_index(
    root: Path, index: Index, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    (root / "a").write_text("text")
    index.update()
    now, now_ns = time.time(), time.time_ns()
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: now + jump)
        patch.setattr(time, "time_ns", lambda: now_ns + jump * 1_000_000_000)
        (root / "b").write_text("text")
        index.update()
        assert index.paths() == {"a", "b"}
    (root / "a").write_text("other text")
    index.update()
    assert index.contents() == {
        "a": WORDS.encode_one("other text"),
        "b": WORDS.encode_one("text"),
    }


def test_files_of_the_future_and_of_before_1970_are_indexed_once(root: Path, index: Index) -> None:
    for name, when in (("past", -1_000_000), ("future", time.time() + YEARS)):
        (root / name).write_text(name)
        os.utime(root / name, (when, when))
    index.update()
    index.update()
    assert index.paths() == {"past", "future"}
    assert index.update() == ingest.Changes(0, 0, 0, 0)


# --- the disk ---


def test_a_disk_that_is_full_from_the_start_is_a_disk_problem(root: Path, index: Index) -> None:
    (root / "a").write_text("text")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        with pytest.raises(DiskProblem, match="no index"):
            index.update()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    index.update()
    assert index.paths() == {"a"}


def test_a_newer_copydrafts_index_can_be_cleared(root: Path, index: Index) -> None:
    (root / "a").write_text("text")
    index.update()
    index.cache.run(
        lambda db: db.table("_sqlite_migrations").insert(
            {"migration_set": "copydraft.index", "name": "m999_new", "applied_at": "x"}
        )
    )
    with pytest.raises(DiskProblem, match="newer copydraft"):
        index.contents()
    IndexCache(index.cache.path).remove()
    assert index.update().added == 1
