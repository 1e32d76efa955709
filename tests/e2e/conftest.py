"""A home with a short runtime directory, whose daemon is ended after the test."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from copydraft import paths
from copydraft.api import lifecycle


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of one model wait for each other at every layer, and others keep the cores busy."""
    monkeypatch.setenv("COPYDRAFT_THREADS", "1")


@pytest.fixture(autouse=True)
def runtime_dir(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="copydraft-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(path))
    yield path
    holder = lifecycle.holder()
    if holder and lifecycle.is_held(paths.lock_path()):
        os.kill(holder.pid, signal.SIGKILL)
    shutil.rmtree(path)
