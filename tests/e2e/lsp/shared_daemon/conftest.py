"""One real daemon for all tests of a module; each has a language server of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.daemons import STEADY_DAEMON


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """All directories of the daemon of these tests."""
    path = Path(tempfile.mkdtemp(prefix="copydraft-"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COPYDRAFT_")}
    names = ("RUNTIME_DIR", "CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME")
    own = {f"XDG_{name}": str(path) for name in names}
    with subprocess.Popen(STEADY_DAEMON, env=kept | own | {"COPYDRAFT_THREADS": "1"}) as daemon:
        while not (path / "copydraft/daemon.sock").exists():
            assert daemon.poll() is None
            time.sleep(0.01)
        yield path
        daemon.terminate()
    shutil.rmtree(path)


@pytest.fixture(autouse=True)
def runtime_dir(isolated_home: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where servers and clients find the daemon."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    return place
