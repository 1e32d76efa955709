"""VS Code as users have it: the extension is installed from its package, a browser shows it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.vscode import host, install


@contextlib.contextmanager
def code_server(
    installed: install.Installed,
    home: Path,
    vsix: Path,
    environment: dict[str, str],
    settings: Mapping[str, Any],
    *,
    trusting: bool = True,
) -> Iterator[str]:
    """The page of the workspace `home / "workspace"`, with `settings` of the user's.

    Unless VS Code is `trusting`, it asks whether the workspace is to be trusted. The daemon that is
    left at the end is ended.
    """
    data = home / "data"
    (data / "User").mkdir(parents=True)
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
        *("--disable-update-check", "--disable-getting-started-override"),
        *(("--disable-workspace-trust",) if trusting else ()),
    )
    with (
        (home / "server.log").open("wb") as log,
        subprocess.Popen((*command, *options), env=environment, stdout=log, stderr=log) as server,
    ):
        try:
            host.wait_for(f"http://127.0.0.1:{port}/healthz", server)
            yield f"http://127.0.0.1:{port}/?folder={home / 'workspace'}"
        finally:
            host.end(server)
            host.end_daemon(home)


def user(
    installed: install.Installed, home: Path, script: str, *arguments: str, **environment: str
) -> subprocess.Popen[str]:
    """What a script like `round.mjs` does in the browser; it prints what it saw."""
    return subprocess.Popen(
        (installed.node, host.prepare_script(installed, script), *arguments),
        env={
            **os.environ,
            "CHROMIUM": installed.browser,
            "PROFILE": str(home / "browser"),
            **environment,
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
