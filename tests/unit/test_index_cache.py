"""The index's database: what happens to it when the file, the disk or other processes are bad."""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Database

from copydraft.errors import DiskProblem
from copydraft.index import cache as caching
from copydraft.index import ingest, shards
from copydraft.index.cache import IndexCache
from tests.unit.test_ingest import Index


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    for number in range(20):
        (path / f"f{number}").write_text(f"text {number} " * 200)
    return path


@pytest.fixture
def index(root: Path, tmp_path: Path) -> Index:
    return Index(root, tmp_path / "cache" / "index.db")


def rows(path: Path, table: str) -> list[dict[str, object]]:
    database = Database(path)
    found = list(database.table(table).rows)
    database.close()
    return found


def test_only_the_user_may_read_it(index: Index) -> None:
    index.update()
    for name in ("index.db", "index.db.lock"):
        assert (index.cache.path.with_name(name)).stat().st_mode & 0o777 == 0o600


def test_corpora_of_other_formats_tokenizers_and_roots_are_apart(index: Index) -> None:
    index.update()
    for other in (
        index.key._replace(format="loud"),
        index.key._replace(tokenizer="another model's"),
        index.key._replace(root="/elsewhere"),
        index.key._replace(kind="global"),
    ):
        assert index.cache.run(lambda db, key=other: ingest.contents(db, key)) == {}  # type: ignore[misc]


def test_an_index_in_numbers(index: Index) -> None:
    index.update()
    [corpus] = index.cache.run(shards.indexed)
    tokens = sum(len(tokens) for tokens in index.contents().values())
    assert corpus[:4] == (index.key, 20, tokens, 1)
    assert corpus.bytes == 8 * tokens
    assert index.cache.size() >= corpus.bytes


@contextmanager
def connections_of(kind: type[sqlite3.Connection]) -> Iterator[None]:
    """Databases are opened with connections of a kind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=kind))
        yield


# --- damage ---


def test_a_file_that_is_no_database_costs_a_rebuild_and_a_warning(
    index: Index, caplog: pytest.LogCaptureFixture
) -> None:
    index.cache.path.parent.mkdir()
    index.cache.path.write_bytes(b"not a database at all" * 1000)
    assert index.update().added == 20
    assert "is damaged" in caplog.text


@pytest.mark.parametrize("keep", [0, 100, 5000, 40_000])
def test_a_truncated_database_costs_a_rebuild(index: Index, keep: int) -> None:
    index.update()
    content = index.cache.path.read_bytes()
    assert len(content) > keep
    index.cache.path.write_bytes(content[:keep])
    index.update()
    index.contents()  # whatever a partial file looked like, from here on all is well
    index.update()
    assert len(index.contents()) == 20


def test_a_flipped_byte_in_the_text_costs_a_rebuild(
    index: Index, caplog: pytest.LogCaptureFixture
) -> None:
    index.update()
    content = bytearray(index.cache.path.read_bytes())
    [text] = [row["text"] for row in rows(index.cache.path, "segments")]
    assert isinstance(text, bytes)
    at = content.index(text[:400])
    content[at + 10] ^= 1
    index.cache.path.write_bytes(content)
    assert index.contents() == {}
    assert "wrong checksum" in caplog.text
    assert index.update().added == 20


def test_rows_that_point_outside_the_text_cost_a_rebuild(index: Index) -> None:
    index.update()
    database = Database(index.cache.path)
    database.execute("UPDATE documents SET start = start + 1 WHERE path = 'f3'")
    database.conn.commit()
    database.close()
    assert index.contents() == {}


def test_a_segment_without_its_row_costs_a_rebuild(
    index: Index, caplog: pytest.LogCaptureFixture
) -> None:
    index.update()

    class Losing(sqlite3.Connection):
        def blobopen(self, table: str, column: str, row: int, /, **options: Any) -> sqlite3.Blob:
            return super().blobopen(table, column, row + 1, **options)

    with connections_of(Losing):
        assert index.contents() == {}
    assert "no such rowid" in caplog.text
    assert index.update().added == 20


# --- other versions, other processes, a bad disk ---


def test_a_database_of_a_newer_version_is_left_alone(index: Index) -> None:
    index.update()
    database = Database(index.cache.path)
    database.table("_sqlite_migrations").insert(
        {"migration_set": "copydraft.index", "name": "m999_from_the_future", "applied_at": "x"}
    )
    database.close()
    with pytest.raises(DiskProblem, match="written by a newer copydraft") as caught:
        index.update()
    assert caught.value.hint == "update copydraft, or remove it: copydraft index clear"
    assert len(rows(index.cache.path, "documents")) == 20


def test_a_locked_database_is_a_disk_problem_and_readable(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.update()
    (index.root / "f0").write_text("changed")
    monkeypatch.setattr(caching, "_BUSY_S", 0.01)
    other = sqlite3.connect(index.cache.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DiskProblem, match="locked"):
        index.update()
    assert len(index.contents()) == 20
    other.execute("ROLLBACK")
    other.close()
    assert index.update().added == 1


@pytest.mark.parametrize("fault", ["SQLITE_IOERR_READ", "SQLITE_BUSY", "SQLITE_CANTOPEN"])
def test_text_that_cannot_be_read_now_is_not_thrown_away(index: Index, fault: str) -> None:
    index.update()

    class Failing(sqlite3.Connection):
        def blobopen(self, table: str, column: str, row: int, /, **options: Any) -> sqlite3.Blob:
            error = sqlite3.OperationalError("not now")
            error.sqlite_errorname = fault
            raise error

    with connections_of(Failing), pytest.raises(DiskProblem, match="not now"):
        index.contents()
    assert len(index.contents()) == 20


def test_two_writers_take_turns(index: Index) -> None:
    with index.cache.writing():
        other = IndexCache(index.cache.path)
        with pytest.raises(DiskProblem, match="another process"), other.writing(wait=False):
            pass
    with index.cache.writing(wait=False):
        pass


def test_a_directory_that_cannot_be_made_is_a_disk_problem(tmp_path: Path, root: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DiskProblem, match="cannot make"):
        Index(root, tmp_path / "file" / "index.db").update()


def test_a_read_only_disk_is_a_disk_problem(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.update()

    def refuse(path: Path, flags: int, mode: int = 0o777) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    for use in (index.update, index.contents):
        with pytest.raises(DiskProblem, match="Read-only file system"):
            use()


def test_a_directory_in_its_place_is_a_disk_problem(index: Index) -> None:
    index.cache.path.mkdir(parents=True)
    with pytest.raises(DiskProblem, match="no index"):
        index.update()


@contextmanager
def full_disk(most: int) -> Iterator[None]:
    """No file may grow beyond `most` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_a_disk_problem_and_keeps_what_was_there(index: Index) -> None:
    index.update()
    (index.root / "large").write_text(" ".join(map(str, range(100_000))))
    with full_disk(400_000), pytest.raises(DiskProblem, match="no index"):
        index.update()
    assert len(index.contents()) == 20
    assert index.update().added == 1
