"""The wheel, and the VS Code extension that carries it: run by `./scripts/package [FOLDER]`.

The extension holds all that its environment is made from but what pip fetches: the wheel, the
pinned requirements, and the scripts that set up a checkout. `vscode-extension/src/setup.ts` is the
other half of this.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.e2e.vscode import install  # noqa: E402 (the pinned tools are the same)

_EXTENSION = ROOT / "vscode-extension"
_REQUIREMENTS = ("requirements.txt", "requirements-build.txt", "requirements-engine.txt")
_SCRIPTS = ("run", "prove_build.py", "bootstrap")
_NO_CACHES = shutil.ignore_patterns("__pycache__")


def package(folder: Path) -> tuple[Path, Path]:
    """The wheel and the extension, built anew in `folder`.

    Raises:
        subprocess.CalledProcessError: a tool failed; what it says is on stderr.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        stage = Path(temporary) / "extension"
        wheel = build_wheel(Path(temporary))
        _lay_out(stage, wheel)
        version = json.loads((stage / "package.json").read_text("utf-8"))["version"]
        extension = folder / f"copydraft-{version}.vsix"
        _zip(stage, extension)
        return Path(shutil.copy(wheel, folder)), extension


def build_wheel(folder: Path) -> Path:
    """Copydraft as a wheel; the same sources give the same bytes."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    _run([*command, "--directory", str(folder)], ROOT)
    [wheel] = folder.glob("copydraft-*.whl")
    return wheel


def _lay_out(stage: Path, wheel: Path) -> None:
    """The extension's files as a user gets them."""
    install.build_extension()
    shutil.copytree(_EXTENSION / "media", stage / "media")
    for name in ("package.json", "README.md", ".vscodeignore"):
        shutil.copy(_EXTENSION / name, stage)
    for name in ("LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, stage)
    dist = stage / "dist"
    dist.mkdir()
    shutil.copy(_EXTENSION / "dist/extension.js", dist)
    shutil.copytree(ROOT / "daemon/copydraft/web", dist / "web")
    _lay_out_setup(dist / "setup", wheel)


def _lay_out_setup(setup: Path, wheel: Path) -> None:
    scripts = setup / "scripts"
    scripts.mkdir(parents=True)
    for name in _SCRIPTS:
        source = ROOT / "scripts" / name
        if source.is_dir():
            shutil.copytree(source, scripts / name, ignore=_NO_CACHES)
        else:
            shutil.copy(source, scripts)
    for path in [wheel, *(ROOT / name for name in _REQUIREMENTS)]:
        shutil.copy(path, setup)
    files = sorted(path for path in setup.rglob("*") if path.is_file())
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
    (setup / "payload.txt").write_text(f"{wheel.name}\n{digest}\n", "utf-8")


def _zip(stage: Path, extension: Path) -> None:
    tools = install.install()
    vsce = tools.root / "node_modules/@vscode/vsce/vsce"
    options = ("--no-dependencies", "--allow-missing-repository", "--out", str(extension))
    _run([str(tools.node), str(vsce), "package", *options], stage)


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, stdout=sys.stderr, check=True)


if __name__ == "__main__":
    for made in package(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "dist"):
        print(f"{made} ({made.stat().st_size / 1000:.0f} kB)")
