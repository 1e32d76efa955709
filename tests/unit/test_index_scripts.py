"""The commands that measure and kill the index hand over to modules that can be imported."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from bootstrap import command

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("kill-indexing", "--times"), ("bench-index", "--tokens")],
)
def test_the_command_tells_its_arguments(
    name: str, arguments: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run outside pytest, whose own path would hide that a module is not found."""
    handed: list[str] = []
    monkeypatch.setattr(command, "prepared", lambda **_: Path(sys.executable))
    monkeypatch.setattr(command, "become", lambda python, *rest: handed.extend(rest))
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    runpy.run_path(str(SCRIPTS / name))
    shown = subprocess.run(
        [sys.executable, *handed], capture_output=True, text=True, check=False, cwd="/"
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    assert arguments in shown.stdout
