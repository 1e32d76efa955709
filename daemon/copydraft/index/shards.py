"""Corpora, documents and segments as rows of the index's database."""

from __future__ import annotations

import mmap
import sqlite3
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from copydraft.index.cache import Damaged
from copydraft.index.segment import Placed, Segment, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlite_utils import Database

    from copydraft.index.segment import Bytes

_KEPT_S = 30 * 24 * 3600

_CHUNK_BYTES = 1 << 20
"""Read at once: other threads of Python wait no longer than for this."""


class CorpusKey(NamedTuple):
    """What belongs together: searched as one, and never with another tokenizer or format."""

    kind: str
    """"workspace" or "global"."""
    root: str
    format: str
    tokenizer: str


class Known(NamedTuple):
    """What the index has of a file."""

    size: int
    modified: int
    changed: int
    digest: str
    """SHA-256 of its bytes; "" if it is no text to be indexed."""


class Row(NamedTuple):
    """A document of a segment."""

    path: str
    modified: int
    start: int
    length: int


class Stored(NamedTuple):
    """A segment of the database, and its documents in the order of their start."""

    id: int
    size: int
    """Tokens, those of dropped documents and separators included."""
    checksum: int
    rows: list[Row]

    @property
    def live(self) -> int:
        """Tokens of the documents."""
        return sum(row.length for row in self.rows)

    @property
    def used(self) -> int:
        """Tokens of the documents and their separators."""
        return self.live + len(self.rows)


class Indexed(NamedTuple):
    """A corpus in numbers."""

    key: CorpusKey
    documents: int
    tokens: int
    segments: int
    bytes: int


def corpus_id(db: Database, key: CorpusKey) -> int | None:
    rows = db.execute(
        "SELECT id FROM corpora WHERE kind = ? AND root = ? AND format = ? AND tokenizer = ?", key
    ).fetchall()
    return int(rows[0][0]) if rows else None


def make_corpus(db: Database, key: CorpusKey, now: float) -> int:
    """The number of a corpus that is used now, in seconds since 1970."""
    found = corpus_id(db, key)
    with db.atomic():
        if found is None:
            db.table("corpora").insert(key._asdict() | {"used": int(now)})
        else:
            db.table("corpora").update(found, {"used": int(now)})
    found = corpus_id(db, key)
    assert found is not None
    return found


def forget_unused(db: Database, now: float) -> None:
    """Delete corpora that no one used for long: other models', or of workspaces that are gone."""
    for (corpus,) in db.execute(
        "SELECT id FROM corpora WHERE used < ?", [int(now) - _KEPT_S]
    ).fetchall():
        forget(db, corpus)


def known(db: Database, corpus: int) -> dict[str, Known]:
    """What is known of each file, by path."""
    rows = db.execute(
        "SELECT path, size, modified, changed, digest FROM documents WHERE corpus = ?", [corpus]
    )
    return {path: Known(*rest) for path, *rest in rows}


def replace(
    db: Database,
    corpus: int,
    files: Mapping[str, Known],
    segment: Segment | None,
    gone: Iterable[str] = (),
) -> None:
    """In one transaction: forget the files in `gone`, keep others anew, with their segment.

    Files that are not among the segment's documents are kept as no text.
    """
    with db.atomic():
        db.conn.executemany(
            "DELETE FROM documents WHERE corpus = ? AND path = ?", ((corpus, path) for path in gone)
        )
        placed = {} if segment is None else {each.source.path: each for each in segment.documents}
        number = None if segment is None else _insert(db, corpus, segment)
        db.conn.executemany(
            "INSERT OR REPLACE INTO documents"
            " (corpus, path, size, modified, changed, digest, segment, start, count)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (corpus, path, *file, number, placed[path].start, placed[path].length)
                if path in placed
                else (corpus, path, *file, None, 0, 0)
                for path, file in files.items()
            ),
        )
        _drop_empty(db, corpus)


def touch(db: Database, corpus: int, files: Mapping[str, Known]) -> None:
    """Note new times of files whose content is the same."""
    with db.atomic():
        db.conn.executemany(
            "UPDATE documents SET size = ?, modified = ?, changed = ?"
            " WHERE corpus = ? AND path = ?",
            (
                (file.size, file.modified, file.changed, corpus, path)
                for path, file in files.items()
            ),
        )


def merge(db: Database, corpus: int, old: Iterable[int], merged: Segment) -> None:
    """Put a segment with the documents of `old` in their place."""
    with db.atomic():
        number = _insert(db, corpus, merged)
        db.conn.executemany(
            "UPDATE documents SET segment = ?, start = ? WHERE corpus = ? AND path = ?",
            ((number, each.start, corpus, each.source.path) for each in merged.documents),
        )
        db.conn.executemany("DELETE FROM segments WHERE id = ?", ((each,) for each in old))


def stored(db: Database, corpus: int) -> list[Stored]:
    """The segments of a corpus without their text, in order of their age."""
    by_segment: dict[int, list[Row]] = {}
    for segment, *row in db.execute(
        "SELECT segment, path, modified, start, count FROM documents"
        " WHERE corpus = ? AND segment IS NOT NULL ORDER BY segment, start",
        [corpus],
    ):
        by_segment.setdefault(segment, []).append(Row(*row))
    rows = db.execute(
        "SELECT id, size, checksum FROM segments WHERE corpus = ? ORDER BY id", [corpus]
    )
    return [
        Stored(number, size, checksum, by_segment.get(number, []))
        for number, size, checksum in rows
    ]


def load(db: Database, segment: Stored, kind: str, field: str, prefix: str = "") -> Segment:
    """A segment with its text; `prefix` goes in front of the paths.

    Raises:
        Damaged: the bytes are not those that were written.
    """
    text, places, table = (
        _read(db.conn, column, segment.id) for column in ("text", "places", "directory")
    )
    if _checksum(text, places, table) != segment.checksum:
        raise Damaged(f"segment {segment.id} has a wrong checksum")
    try:
        return Segment(text, places, table, documents_of(segment, kind, field, prefix))
    except ValueError as error:
        raise Damaged(str(error)) from error


def documents_of(segment: Stored, kind: str, field: str, prefix: str = "") -> list[Placed]:
    return [
        Placed(Source(kind, prefix + row.path, field, row.modified), row.start, row.length)
        for row in segment.rows
    ]


def forget(db: Database, corpus: int) -> None:
    """Delete a corpus."""
    with db.atomic():
        for table in ("documents", "segments"):
            db.execute(f"DELETE FROM {table} WHERE corpus = ?", [corpus])  # noqa: S608
        db.execute("DELETE FROM corpora WHERE id = ?", [corpus])


def indexed(db: Database) -> list[Indexed]:
    """All corpora in numbers."""
    rows = db.execute(
        "SELECT kind, root, format, tokenizer,"
        " (SELECT count(*) FROM documents WHERE corpus = c.id AND segment IS NOT NULL),"
        " (SELECT coalesce(sum(count), 0) FROM documents WHERE corpus = c.id),"
        " (SELECT count(*) FROM segments WHERE corpus = c.id),"
        " (SELECT coalesce(sum(length(text) + length(places) + length(directory)), 0)"
        "  FROM segments WHERE corpus = c.id)"
        " FROM corpora c ORDER BY kind DESC, root, format"
    )
    return [Indexed(CorpusKey(*row[:4]), *row[4:]) for row in rows]


def _insert(db: Database, corpus: int, segment: Segment) -> int:
    checksum = _checksum(segment.text, segment.places, segment.table)
    cursor = db.execute(
        "INSERT INTO segments (corpus, size, text, places, directory, checksum)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [corpus, len(segment), segment.text, segment.places, segment.table, checksum],
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _drop_empty(db: Database, corpus: int) -> None:
    db.execute(
        "DELETE FROM segments WHERE corpus = ? AND id NOT IN"
        " (SELECT segment FROM documents WHERE segment IS NOT NULL)",
        [corpus],
    )


def _read(connection: Any, column: str, row: int) -> Bytes:
    """A column's bytes, in memory that goes back to the system when no one uses it any more."""
    try:
        with connection.blobopen("segments", column, row, readonly=True) as blob:
            if not len(blob):
                return b""
            memory = mmap.mmap(-1, len(blob))
            while chunk := blob.read(_CHUNK_BYTES):
                memory.write(chunk)
            return memory
    except sqlite3.OperationalError as error:
        # The row is not there, or holds no bytes. All else (a lock, the disk, too few file
        # handles) says nothing of the file.
        if error.sqlite_errorname != "SQLITE_ERROR":
            raise
        raise Damaged(f"segment {row}: {error}") from error


def _checksum(*parts: Bytes) -> int:
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return checksum
