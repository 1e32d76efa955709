"""A real Neovim, 0.11 and 0.12, over a daemon without a model, and a file for it to open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.daemons import daemon_process
from tests.fixtures.neovim import Neovim, binaries, neovim

TEXT = b"a = 1\nb = 1\nc = 1\n"

BINARIES = binaries()


@pytest.fixture(params=["0.11", "0.12"])
def binary(request: pytest.FixtureRequest) -> Path:
    if request.param not in BINARIES:
        pytest.skip(f"no Neovim {request.param} is installed")
    return BINARIES[request.param]


@pytest.fixture
def vim(binary: Path) -> Iterator[Neovim]:
    with daemon_process(), neovim(binary) as here:
        yield here


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_bytes(TEXT)
    return path
