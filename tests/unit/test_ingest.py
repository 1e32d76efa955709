"""An index follows the files of its root, whatever happens to them."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copydraft.errors import FileProblem
from copydraft.index import compact, ingest, shards
from copydraft.index.cache import IndexCache
from copydraft.index.ingest import Changes
from copydraft.index.shards import CorpusKey
from copydraft.index.tokenizing import PLAIN, Printing
from copydraft.workspace.scanner import LARGEST_BYTES, FoundFile, Scanner
from tests.fixtures.word_numbers import WordNumbers

WORDS = WordNumbers()


class Index:
    """An index of one root, as the tests use it."""

    def __init__(self, root: Path, path: Path, printing: Printing = PLAIN) -> None:
        self.root, self.printing = root, printing
        self.cache = IndexCache(path)
        self.key = CorpusKey("workspace", str(root), printing.name, WORDS.fingerprint)

    def update(self, *only: str, **options: Any) -> Changes:
        return ingest.update(
            self.cache,
            self.key,
            Scanner(self.root),
            WORDS,
            self.printing,
            only=[self.root / name for name in only] or None,
            **options,
        )

    def contents(self) -> dict[str, list[int]]:
        return self.cache.run(lambda db: ingest.contents(db, self.key))

    def paths(self) -> set[str]:
        return set(self.contents())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


@pytest.fixture
def index(root: Path, tmp_path: Path) -> Index:
    return Index(root, tmp_path / "cache" / "index.db")


def test_a_document_is_kept_as_the_tokens_of_its_printed_text(root: Path, tmp_path: Path) -> None:
    index = Index(root, tmp_path / "index.db", Printing("loud", "file", str.upper))
    (root / "a.txt").write_text("one two\n")
    assert index.update() == Changes(added=1, removed=0, tokens=3, left_out=0)
    assert index.contents() == {"a.txt": WORDS.encode_one("ONE TWO\n")}


def test_line_ends_are_printed_as_models_know_them(root: Path, index: Index) -> None:
    (root / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    index.update()
    assert index.contents() == {"a.txt": WORDS.encode_one("one\ntwo\nthree\n")}


def test_only_what_changed_is_indexed_again(root: Path, index: Index) -> None:
    for name in ("a", "b", "c"):
        (root / name).write_text(f"{name} text")
    assert index.update().added == 3
    assert index.update() == Changes(0, 0, 0, 0)
    (root / "b").write_text("other words")
    (root / "c").unlink()
    assert index.update() == Changes(added=1, removed=1, tokens=2, left_out=0)
    assert index.contents() == {
        "a": WORDS.encode_one("a text"),
        "b": WORDS.encode_one("other words"),
    }


def test_a_file_with_new_times_and_the_same_content_is_not_tokenised_again(
    root: Path, index: Index
) -> None:
    (root / "a").write_text("text")
    index.update()
    os.utime(root / "a", (1, 1))  # a clock that jumped back
    assert index.update().added == 0
    assert index.paths() == {"a"}


def test_a_changed_file_with_the_old_size_and_time_is_seen(root: Path, index: Index) -> None:
    (root / "a").write_text("aaaa")
    os.utime(root / "a", (1000, 1000))
    index.update()
    (root / "a").write_text("bbbb")
    os.utime(root / "a", (1000, 1000))
    assert index.update().added == 1
    assert index.contents()["a"] == WORDS.encode_one("bbbb")


def test_looking_at_some_paths_leaves_the_others(root: Path, index: Index) -> None:
    for name in ("a", "sub/b", "sub/c", "subway"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(name)
    index.update()
    for name in ("a", "sub/b"):
        (root / name).write_text("new text")
    (root / "sub/c").unlink()
    (root / "subway").unlink()
    assert index.update("sub").removed == 1
    assert index.paths() == {"a", "sub/b", "subway"}
    assert index.contents()["a"] == WORDS.encode_one("a")
    assert index.contents()["sub/b"] == WORDS.encode_one("new text")


def test_a_file_that_turned_into_a_directory_and_back_is_followed(root: Path, index: Index) -> None:
    (root / "a").write_text("file")
    index.update()
    (root / "a").unlink()
    (root / "a").mkdir()
    (root / "a" / "b").write_text("inside")
    index.update("a")
    assert index.paths() == {"a/b"}
    (root / "a" / "b").unlink()
    (root / "a").rmdir()
    (root / "a").write_text("file")
    index.update("a")
    assert index.paths() == {"a"}


def test_a_file_that_is_newly_ignored_is_forgotten(root: Path, index: Index) -> None:
    (root / "a.log").write_text("text")
    index.update()
    (root / ".gitignore").write_text("*.log")
    index.update()
    assert index.paths() == {".gitignore"}


# --- files that are no text ---


@pytest.mark.parametrize(
    "data", [b"a\0b", b"\xff\xfea", b"caf\xe9", b"-----BEGIN RSA PRIVATE KEY-----\nx"]
)
def test_what_is_no_text_or_holds_a_key_is_looked_at_once(
    root: Path, index: Index, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(data)
    os.utime(root / "a")
    monkeypatch.setattr(ingest, "_CLOCK_STEP_NS", -1)
    index.update()
    assert index.paths() == set()
    monkeypatch.setattr(ingest, "read_document", lambda path: pytest.fail("read again"))
    index.update()


def test_a_file_that_becomes_text_or_stops_being_it_is_followed(root: Path, index: Index) -> None:
    (root / "a").write_bytes(b"\0")
    index.update()
    (root / "a").write_text("text")
    index.update()
    assert index.paths() == {"a"}
    (root / "a").write_bytes(b"\0\0")
    index.update()
    assert index.paths() == set()


def test_a_file_that_grew_very_large_is_forgotten(root: Path, index: Index) -> None:
    (root / "a").write_text("text")
    index.update()
    with (root / "a").open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    index.update()
    assert index.paths() == set()


# --- files that change while they are read ---


def test_a_file_that_is_gone_when_it_is_read_is_left_out(
    root: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("text")
    monkeypatch.setattr(
        Scanner, "scan", lambda self: iter([FoundFile("gone", 4, 1, 1), FoundFile("a", 4, 1, 1)])
    )
    index.update()
    assert index.paths() == {"a"}


def test_a_file_replaced_by_a_link_when_it_is_read_is_left_out(
    root: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside").write_text("not of this workspace")
    (root / "a").symlink_to(tmp_path / "outside")
    monkeypatch.setattr(Scanner, "scan", lambda self: iter([FoundFile("a", 21, 1, 1)]))
    index.update()
    assert index.paths() == set()


def test_a_file_that_cannot_be_opened_now_is_read_by_the_next_update(
    root: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("text")

    def refuse(self: Path) -> bytes:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse)
        index.update()
    assert index.paths() == set()
    index.update()
    assert index.paths() == {"a"}


def test_a_disk_that_does_not_answer_forgets_nothing(
    root: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("text")
    index.update()

    def refuse(path: Path) -> list[str]:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", refuse)
        with pytest.raises(FileProblem, match="Input/output error"):
            index.update()
    assert index.paths() == {"a"}


# --- size ---


def test_no_more_is_indexed_than_the_limit_and_the_rest_is_counted(
    root: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_BATCH_FILES", 1)
    for name in ("a", "b", "c"):
        (root / name).write_text("one two three")
    assert index.update(most_tokens=4) == Changes(added=2, removed=0, tokens=6, left_out=1)
    (root / "a").write_text("one two four")
    assert index.update(most_tokens=4).added == 1


def test_progress_is_told_all_along_and_counts_every_file(
    root: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "binary").write_bytes(b"\0")
    for name in ("a", "b", "c"):
        (root / name).write_text("one two")
    monkeypatch.setattr(ingest, "_TOLD_CHARACTERS", 10)
    # However fast the machine is, no file counts as written at this very moment: it would be
    # read again by the next update.
    monkeypatch.setattr(ingest, "_CLOCK_STEP_NS", -1)
    told: list[ingest.Progress] = []
    index.update(report=told.append)
    assert told == [(3, 4), (4, 6), (4, 6), (4, 6)]
    told.clear()
    index.update(report=told.append)
    assert told == [(4, 0)]


def test_many_updates_leave_few_segments(root: Path, index: Index) -> None:
    for number in range(40):
        (root / f"f{number}").write_text(f"text {number}")
        index.update(f"f{number}")
    [corpus] = index.cache.run(shards.indexed)
    assert (corpus.documents, corpus.segments) == (40, 1)
    assert index.contents()["f7"] == WORDS.encode_one("text 7")


def test_what_no_one_used_for_a_month_is_forgotten(
    root: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("text")
    index.update()
    other = Index(tmp_path / "other", index.cache.path)
    days = 24 * 3600
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 29 * days)
    other.update()
    assert index.paths() == {"a"}
    monkeypatch.setattr(time, "time", lambda: now + 31 * days)
    other.update()
    assert index.paths() == set()
    assert len(index.cache.run(shards.indexed)) == 1


def test_documents_without_tokens_are_no_reason_to_write_a_segment_anew(
    root: Path, tmp_path: Path
) -> None:
    index = Index(root, tmp_path / "index.db", Printing("nothing", "file", lambda _: ""))
    for number in range(20):
        (root / f"{number}").write_text("text")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compact, "_TIERS", (16, 1 << 20))
        index.update()
    assert index.contents() == {f"{number}": [] for number in range(20)}


def test_segments_are_merged_within_a_tier_and_rewritten_when_mostly_dead() -> None:
    small, middle, large = (1000, 1000), (500_000, 500_000), (6_000_000, 6_000_000)
    assert compact.plan([large, middle, small]) == []
    assert compact.plan([large, small, middle, small]) == [1, 3]
    assert compact.plan([large, middle, middle]) == [1, 2]
    assert compact.plan([large, large]) == []
    assert compact.plan([(3_000_000, 3_000_000), (3_500_000, 3_500_000)]) == [0, 1]
    assert compact.plan([(100_000, 1_000_000)]) == [0]
    assert compact.plan([(10, 100)]) == []


steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("abc"), st.text("xy \n", max_size=20)),
        st.tuples(st.sampled_from("abc"), st.none()),
    ),
    max_size=12,
)


@given(steps, st.booleans())
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_updates_step_by_step_equal_a_fresh_index(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str | None]], partly: bool
) -> None:
    place = tmp_path_factory.mktemp("case")
    root = place / "workspace"
    root.mkdir()
    index = Index(root, place / "index.db")
    for name, text in steps:
        if text is None:
            (root / name).unlink(missing_ok=True)
        else:
            (root / name).write_text(text)
        index.update(*([name] if partly else []))
    fresh = Index(root, place / "fresh.db")
    fresh.update()
    assert index.contents() == fresh.contents()
