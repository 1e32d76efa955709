"""The packaged extension as a user meets it: VS Code in a browser, a real daemon, a real model."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.vscode import host, install
from tests.e2e.vscode.code_server import code_server, user

FILE = "shop.py"
TEXT = """\
def area(width, height):
    return width * height


def price(area, rate):
    return round(area * rate, 2)  # 😀


def label(name, total):
    return name + ": " + str(total)
"""
INSTRUCTION = "Add type hints to all functions."
LIMIT_S = 300


@pytest.mark.model
@pytest.mark.timeout(1800)  # on a new machine, VS Code and the model are fetched
def test_a_user_edits_accepts_saves_sees_what_was_copied_and_explains(
    installed: install.Installed,
    vsix: Path,
    vscode_home: Path,
    shots: Path,
    real_model: Callable[[str], Path],
) -> None:
    home = vscode_home / "round"
    (home / "workspace").mkdir(parents=True)
    (home / "workspace" / FILE).write_text(TEXT, "utf-8")
    settings = {
        **host.settings(),
        "copydraft.server.command": [str(Path(sys.executable).with_name("copydraft-lsp"))],
        "copydraft.model": str(real_model("qwen2.5-coder-0.5b")),
    }
    environment = host.isolated(home, COPYDRAFT_THREADS="1")
    with code_server(installed, home, vsix, environment, settings) as url:
        wishes = {
            "SHOTS": str(shots),
            "LIMIT_MS": str(LIMIT_S * 1000),
            "INSTRUCTION": INSTRUCTION,
        }
        with user(installed, home, "round.mjs", url, FILE, **wishes) as process:
            printed, _ = process.communicate()
        assert process.returncode == 0
        seen = json.loads(printed)
        assert "fault" not in seen, seen["fault"]
        assert seen["toasts"] == []
        on_disk = (home / "workspace" / FILE).read_text("utf-8")
        assert "def area(width: " in on_disk
        assert on_disk.split("\n") == seen["lines"]
        assert len(seen["explanation"]) > 40
        assert seen["question"] == "Why?"
        assert "% copied" in seen["status"]
        # The statistics show the answer that the file has now, and where its parts come from.
        assert "def area(width: " in seen["answer"]
        assert {"part from region", "part novel"} <= set(seen["origins"])
        assert re.fullmatch(r"\d+ %", seen["accepted"])
