"""The packaged extension as a user meets it: VS Code in a browser, a real daemon, a real model."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from package_extension import package
from tests.e2e.vscode import host, install

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


@pytest.fixture
def vsix(installed: install.Installed, tmp_path: Path) -> Path:
    assert installed
    return package(tmp_path / "dist")[1]


@contextlib.contextmanager
def code_server(
    installed: install.Installed, home: Path, vsix: Path, model: Path
) -> Iterator[tuple[str, dict[str, str]]]:
    """VS Code with the extension installed, its workspace, and a daemon of its own."""
    environment = host.isolated(home, COPYDRAFT_THREADS="1")
    workspace, data = home / "workspace", home / "data"
    workspace.mkdir()
    (workspace / FILE).write_text(TEXT, "utf-8")
    (data / "User").mkdir(parents=True)
    lsp = Path(sys.executable).with_name("copydraft-lsp")
    settings = {
        **host.settings(),
        "copydraft.server.command": [str(lsp)],
        "copydraft.model": str(model),
    }
    (data / "User/settings.json").write_text(json.dumps(settings), "utf-8")
    entry = installed.root / "node_modules/code-server/out/node/entry.js"
    places = ("--user-data-dir", str(data), "--extensions-dir", str(home / "extensions"))
    command = (str(installed.node), str(entry), *places)
    subprocess.run(
        (*command, "--install-extension", str(vsix)), env=environment, check=True, stdout=sys.stderr
    )
    port = host.free_port()
    options = (
        *("--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry"),
        *("--disable-update-check", "--disable-workspace-trust"),
        "--disable-getting-started-override",
    )
    with (
        (home / "server.log").open("wb") as log,
        subprocess.Popen((*command, *options), env=environment, stdout=log, stderr=log) as server,
    ):
        try:
            host.wait_for(f"http://127.0.0.1:{port}/healthz", server)
            yield f"http://127.0.0.1:{port}/?folder={workspace}", environment
        finally:
            host.end(server)
            host.end_daemon(home)


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
    model = real_model("qwen2.5-coder-0.5b")
    with code_server(installed, home, vsix, model) as (url, _):
        done = subprocess.run(
            (installed.node, host.prepare_script(installed, "round.mjs"), url, FILE),
            env={
                **os.environ,
                "CHROMIUM": installed.browser,
                "PROFILE": str(home / "browser"),
                "SHOTS": str(shots),
                "LIMIT_MS": str(LIMIT_S * 1000),
                "INSTRUCTION": INSTRUCTION,
            },
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        seen = json.loads(done.stdout)
        assert "fault" not in seen, seen
        assert seen["toasts"] == []
        on_disk = (home / "workspace" / FILE).read_text("utf-8")
        assert "def area(width: " in on_disk
        assert on_disk.split("\n") == seen["lines"]
        assert len(seen["explanation"]) > 40
        assert "% copied" in seen["status"]
        # The statistics show the answer that the file has now, and where its parts come from.
        assert "def area(width: " in seen["answer"]
        assert {"part from region", "part novel"} <= set(seen["origins"])
        assert re.fullmatch(r"\d+ %", seen["accepted"])
