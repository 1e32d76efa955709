"""Reading and writing the user's files."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copydraft.errors import BadRequest, DiskProblem, FileChanged, FileProblem
from copydraft.workspace.documents import (
    dominant_line_end,
    read_document,
    region_lines,
    write_document,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    path = tmp_path / "project" / "main.py"
    path.write_bytes(b"one\r\ntwo\n")
    return path


def test_line_ends_are_read_as_they_are(file: Path) -> None:
    assert read_document(file).text == "one\r\ntwo\n"


def test_a_byte_order_mark_is_no_text_and_is_written_back(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbfone\n")
    document = read_document(file)
    assert (document.text, document.bom) == ("one\n", True)
    write_document(document, "two\n")
    assert file.read_bytes() == b"\xef\xbb\xbftwo\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_a_text_is_written_to_the_byte(file: Path, text: str) -> None:
    document = write_document(read_document(file), text)
    # A leading U+FEFF is what a byte order mark is.
    assert read_document(file).text == text.removeprefix("\ufeff")
    assert read_document(file).fingerprint == document.fingerprint


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"ab\x00c", "is binary: byte 2 is NUL"),
        (b"caf\xe9\n", "is not UTF-8: byte 3 is 0xe9"),
        (b"\xef\xbb\xbfcaf\xe9\n", "is not UTF-8: byte 6 is 0xe9"),
        (b"\xff\xfea\x00", "is UTF-16, not UTF-8"),
    ],
)
def test_what_is_no_utf_8_text_is_refused(file: Path, data: bytes, message: str) -> None:
    file.write_bytes(data)
    with pytest.raises(FileProblem, match=message):
        read_document(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match=r"nowhere\.py does not exist"):
        read_document(tmp_path / "nowhere.py")


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="is a directory"):
        read_document(tmp_path)


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileProblem, match="is not a regular file"):
        read_document(tmp_path / "pipe")


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(FileProblem, match="cannot read"):
        read_document(tmp_path / "a")


def test_a_file_over_four_megabytes_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as large:
        large.truncate(5_000_000)
    with pytest.raises(FileProblem, match=r"is too large: 5\.0 MB"):
        read_document(tmp_path / "large")


def test_an_unreadable_file_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(FileProblem, match=r"cannot read .*: Permission denied"):
        read_document(file)


def test_a_file_changed_meanwhile_is_left_alone(file: Path) -> None:
    document = read_document(file)
    file.write_bytes(b"other\n")
    with pytest.raises(FileChanged, match="was changed meanwhile"):
        write_document(document, "new\n")
    assert file.read_bytes() == b"other\n"
    assert list(file.parent.iterdir()) == [file]


def test_a_file_removed_meanwhile_does_not_come_back(file: Path) -> None:
    document = read_document(file)
    file.unlink()
    with pytest.raises(FileChanged, match="was removed"):
        write_document(document, "new\n")
    assert list(file.parent.iterdir()) == []


def test_the_mode_is_kept(file: Path) -> None:
    file.chmod(0o751)
    write_document(read_document(file), "new\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o751


def test_a_link_stays_and_its_target_is_written(file: Path) -> None:
    link = file.parent / "link.py"
    link.symlink_to(file)
    write_document(read_document(link), "new\n")
    assert link.is_symlink()
    assert file.read_bytes() == b"new\n"


def test_a_read_only_file_is_not_replaced(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = read_document(file)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anything
    with pytest.raises(FileProblem, match="is read-only"):
        write_document(document, "new\n")
    assert file.read_bytes() == b"one\r\ntwo\n"


def test_a_full_disk_leaves_the_file_as_it_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    document = read_document(file)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskProblem, match="No space left on device"):
        write_document(document, "new\n")
    assert file.read_bytes() == b"one\r\ntwo\n"
    assert list(file.parent.iterdir()) == [file]


def test_a_directory_that_cannot_be_synced_is_no_failure_of_the_write(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def sync_files_only(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(handle)

    monkeypatch.setattr(os, "fsync", sync_files_only)
    assert write_document(read_document(file), "new\n").text == "new\n"
    assert file.read_bytes() == b"new\n"


def test_a_file_with_the_longest_of_names_is_written(tmp_path: Path) -> None:
    path = tmp_path / f"{'字' * 84}.py"
    path.write_text("old\n")
    write_document(read_document(path), "new\n")
    assert path.read_text() == "new\n"


def test_two_writes_in_a_row_need_no_second_reading(file: Path) -> None:
    document = write_document(read_document(file), "first\n")
    write_document(document, "second\n")
    assert file.read_bytes() == b"second\n"


def test_region_lines_are_whole_lines_with_their_ends() -> None:
    assert region_lines("a\r\nb\nc", 1, 3) == ["b\n", "c"]


@pytest.mark.parametrize(("start", "end"), [(3, 4), (1, 4), (7, 9)])
def test_lines_past_the_end_are_refused_with_the_count(start: int, end: int) -> None:
    with pytest.raises(BadRequest, match=f"lines {start + 1} to {end} .* has 3 lines"):
        region_lines("a\nb\nc\n", start, end)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 2), (2, 1)])
def test_a_range_of_no_lines_is_refused(start: int, end: int) -> None:
    with pytest.raises(BadRequest, match="there are no lines"):
        region_lines("a\nb\nc\n", start, end)


def test_an_empty_file_has_no_region() -> None:
    with pytest.raises(BadRequest, match="the file is empty"):
        region_lines("", 0, 1)


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        (["a\r\n", "b\n", "c\r\n"], "\r\n"),
        (["a\n", "b\r\n"], "\n"),
        (["a\r\n", "b\n"], "\r\n"),
        (["a\r", "b"], "\r"),
        (["a"], ""),
    ],
)
def test_the_most_frequent_line_end_dominates(lines: list[str], end: str) -> None:
    assert dominant_line_end(lines) == end
