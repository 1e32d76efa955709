"""A workspace that its user does not trust chooses nothing that is run: in a real window."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.e2e.vscode import host, install
from tests.e2e.vscode.code_server import code_server, user

LIMIT_S = 300


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Writes down that it was run, and can do nothing else."""
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\necho run >> {tmp_path}/was-run\nexit 3\n")
    path.chmod(0o755)
    return path


@pytest.mark.timeout(1800)  # the first time, VS Code is installed
@pytest.mark.parametrize("setting", ["copydraft.python", "copydraft.server.command"])
def test_what_a_workspace_names_is_not_run_before_it_is_trusted(
    setting: str,
    installed: install.Installed,
    vsix: Path,
    vscode_home: Path,
    shots: Path,
    program: Path,
) -> None:
    home = vscode_home / f"trust-{setting}"
    (home / "workspace/.vscode").mkdir(parents=True)
    named = [str(program)] if setting.endswith("command") else str(program)
    of_workspace = {setting: named, "copydraft.model": str(program.with_name("model.gguf"))}
    (home / "workspace/.vscode/settings.json").write_text(json.dumps(of_workspace))
    was_run = program.with_name("was-run")
    of_user = host.settings()
    del of_user["copydraft.server.command"]
    environment = host.isolated(home)
    with code_server(installed, home, vsix, environment, of_user, trusting=False) as url:
        wishes = {"SHOTS": str(shots), "LIMIT_MS": str(LIMIT_S * 1000)}
        with user(installed, home, "trust.mjs", url, **wishes) as process:
            assert process.stdin
            assert process.stdout
            restricted = json.loads(process.stdout.readline())
            assert restricted == {"commands": [], "bar": 0, "toasts": []}
            assert not was_run.exists()

            process.stdin.write("trust\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == {"bar": 1}
            # The same settings are in force now: what was not run before would have been.
            while not was_run.exists():
                time.sleep(0.1)
