"""The user's settings in a browser, which VS Code takes for a window onto another machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.vscode import host, install
from tests.e2e.vscode.code_server import code_server, user

FILE = "a.py"
LIMIT_S = 60


@pytest.mark.timeout(1800)  # the first time, VS Code is installed
def test_the_users_server_stays_in_use_when_another_setting_of_theirs_changes(
    installed: install.Installed, vsix: Path, vscode_home: Path, shots: Path
) -> None:
    home = vscode_home / "settings"
    (home / "workspace").mkdir(parents=True)
    (home / "workspace" / FILE).write_text("total = 1\n")
    with code_server(installed, home, vsix, host.isolated(home), host.settings()) as url:
        wishes = {"SHOTS": str(shots), "LIMIT_MS": str(LIMIT_S * 1000)}
        with user(installed, home, "settings.mjs", url, FILE, **wishes) as process:
            printed, _ = process.communicate()
    assert json.loads(printed) == {"changed": [], "edited": []}
