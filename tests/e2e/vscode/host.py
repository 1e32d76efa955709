"""Runs the extension's own tests in the extension host of a real VS Code."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.vscode.install import EXTENSION, Installed

HERE = Path(__file__).parent
START_LIMIT_S = 60.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    """Until `url` answers; the server is expected to."""
    end = time.monotonic() + START_LIMIT_S
    while time.monotonic() < end:
        assert server.poll() is None, "the server of VS Code has ended"
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.1)
    raise TimeoutError(f"{url} does not answer")


def settings() -> dict[str, Any]:
    """The extension's, for a workspace under test."""
    return {
        "copydraft.server.command": [sys.executable, str(HERE / "fake_server.py")],
        "workbench.startupEditor": "none",
        "files.autoSave": "off",
        # Parts of VS Code that have nothing to do with us and cost time.
        "chat.disableAIFeatures": True,
        "workbench.secondarySideBar.defaultVisibility": "hidden",
        "editor.minimap.enabled": False,
        "git.enabled": False,
    }


def end(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()


def isolated(home: Path, **more: str) -> dict[str, str]:
    """An environment whose user lives in `home`."""
    places = {
        "HOME": ".",
        "XDG_CONFIG_HOME": "config",
        "XDG_DATA_HOME": "share",
        "XDG_STATE_HOME": "state",
        "XDG_CACHE_HOME": "cache",
        "XDG_RUNTIME_DIR": "run",
        "TMPDIR": "tmp",
    }
    for place in places.values():
        (home / place).mkdir(parents=True, exist_ok=True)
    (home / "run").chmod(0o700)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COPYDRAFT_") or name == "COPYDRAFT_TEST_ONLY"
    }
    return {**kept, **{name: str(home / place) for name, place in places.items()}, **more}


def end_daemon(home: Path) -> None:
    """End the daemon that the language servers of this home started, if there is one."""
    lock = home / "run/copydraft/daemon.lock"
    if lock.exists() and (found := re.search(r"\d+", lock.read_text())):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(found[0]), signal.SIGKILL)


def one_folder(home: Path) -> dict[str, Path]:
    """A workspace of one folder, `home / "workspace"`; what names it in a page's address."""
    folder = home / "workspace"
    (folder / ".vscode").mkdir(parents=True)
    (folder / ".vscode/settings.json").write_text(json.dumps(settings()))
    return {"folder": folder}


def two_folders(home: Path) -> dict[str, Path]:
    """A workspace of the folders "one" and "two" in `home`; what names it in a page's address.

    The second has settings that only the workspace may have.
    """
    for name in ("one", "two"):
        (home / name).mkdir(parents=True)
    (home / "two/.vscode").mkdir()
    (home / "two/.vscode/settings.json").write_text(
        json.dumps(
            {
                "copydraft.server.command": ["/nowhere/copydraft-lsp"],
                "copydraft.python": "/nowhere/python",
                "copydraft.model": "/nowhere/model.gguf",
            }
        )
    )
    workspace = home / "two.code-workspace"
    folders = [{"path": "one"}, {"path": "two"}]
    workspace.write_text(json.dumps({"folders": folders, "settings": settings()}))
    return {"workspace": workspace}


@contextlib.contextmanager
def extension_host(
    installed: Installed,
    home: Path,
    environment: dict[str, str],
    opened: Mapping[str, Path],
    *,
    tests: str = "",
) -> Iterator[str]:
    """The server of VS Code, with our extension in development; the page's address.

    The page shows the workspace that is `opened`. It runs a bundle of the extension's tests, or is
    a user's.
    """
    port = free_port()
    origin = f"vscode-remote://127.0.0.1:{port}"
    payload = [["extensionDevelopmentPath", f"{origin}{EXTENSION}"]]
    if tests:
        payload.append(["extensionTestsPath", f"{origin}{EXTENSION}/dist/test/{tests}.js"])
    said = json.dumps(payload, separators=(",", ":"))
    query = urllib.parse.urlencode({**opened, "payload": said})
    command = (
        installed.node,
        installed.vscode / "out/server-main.js",
        *("--host", "127.0.0.1", "--port", str(port), "--without-connection-token"),
        *("--enable-smoke-test-driver", "--disable-telemetry", "--disable-workspace-trust"),
        *("--accept-server-license-terms", "--server-data-dir", home / "server"),
        *("--user-data-dir", home / "data", "--extensions-dir", home / "extensions"),
    )
    with (
        (home / "server.log").open("wb") as log,
        subprocess.Popen(command, env=environment, stdout=log, stderr=log) as server,
    ):
        try:
            wait_for(f"http://127.0.0.1:{port}/version", server)
            yield f"http://127.0.0.1:{port}/?{query}"
        finally:
            end(server)


def outcomes(
    installed: Installed,
    home: Path,
    opened: Mapping[str, Path],
    tests: str,
    limit_s: float,
    **environment: str,
) -> dict[str, str]:
    """What went wrong in each test of a bundle of ours, by their names; "" if nothing."""
    report = home / "report.json"
    more = {"COPYDRAFT_TEST_REPORT": str(report), **environment}
    with extension_host(installed, home, isolated(home, **more), opened, tests=tests) as url:
        status, said = drive(installed, home, url, limit_s)
    end_daemon(home)
    assert report.exists(), f"no test was run (status {status}):\n{said[-4000:]}"
    lines = report.read_text().splitlines()
    return {one["name"]: one["fault"] for one in map(json.loads, lines)}


def drive(
    installed: Installed, home: Path, url: str, limit_s: float, user_agent: str = ""
) -> tuple[int, str]:
    """Exit status and output of the tests at `url`, by a browser of that name."""
    environment = {
        **os.environ,
        "CHROMIUM": installed.browser,
        "PROFILE": str(home / "browser"),
        "LIMIT_MS": str(int(limit_s * 1000)),
        "USER_AGENT": user_agent,
    }
    script = prepare_script(installed, "drive.mjs")
    done = subprocess.run(
        (installed.node, script, url), env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def prepare_script(installed: Installed, name: str) -> Path:
    """A script of ours where Node finds Playwright: modules are looked up beside it."""
    for each in ("browser.mjs", "user.mjs", name):
        target = installed.root / each
        target.write_bytes((HERE / each).read_bytes())
    return installed.root / name
