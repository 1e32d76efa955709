"""VS Code for the tests of its extension: installed and run once for all of them."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from package_extension import package
from tests.e2e.vscode import host, install

LIMIT_S = 800.0

# Read at import: later, tests have an environment of their own.
_KEEP = "COPYDRAFT_TEST_KEEP" in os.environ
_SHOTS = os.environ.get("COPYDRAFT_TEST_SHOTS")


@pytest.fixture(scope="session")
def installed() -> install.Installed:
    if lacking := install.missing():
        pytest.skip(lacking)
    here = install.install()
    install.build_extension()
    return here


@pytest.fixture(scope="session")
def vscode_home() -> Iterator[Path]:
    """A short path: that of a socket may have about a hundred bytes."""
    path = Path(tempfile.mkdtemp(prefix="copydraft-vscode-"))
    yield path
    if not _KEEP:
        _remove(path)


def _remove(path: Path) -> None:
    """Delete it, though programs of VS Code that end a moment later may still write there."""
    for _ in range(50):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.1)


@pytest.fixture(scope="session")
def outcomes(installed: install.Installed, vscode_home: Path) -> dict[str, str]:
    """What went wrong in each of the extension's own tests, by their names; "" if nothing."""
    shortcuts = str(vscode_home / "shortcuts.jsonc")
    opened = host.one_folder(vscode_home)
    return host.outcomes(
        installed, vscode_home, opened, "index", LIMIT_S, COPYDRAFT_TEST_SHORTCUTS=shortcuts
    )


@pytest.fixture(scope="session")
def outcomes_in_folders(installed: install.Installed, vscode_home: Path) -> dict[str, str]:
    """The same of those that take a workspace of several folders."""
    home = vscode_home / "folders"
    return host.outcomes(installed, home, host.two_folders(home), "folders", LIMIT_S)


@pytest.fixture(scope="session")
def shots(vscode_home: Path) -> Path:
    """Where screenshots go."""
    folder = Path(_SHOTS) if _SHOTS else vscode_home / "shots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def vsix(installed: install.Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the extension."""
    assert installed
    return package(tmp_path_factory.mktemp("dist"))[1]
