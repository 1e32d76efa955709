"""What copydraft runs on: Python, a compiler, and room on the disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from copydraft import __version__, paths
from copydraft.doctor.finding import Finding
from copydraft.terminal_status import amount

_LEAST_FREE_BYTES = 2_000_000_000


def check_python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", "ok", f"copydraft {__version__}, Python {version}, {sys.executable}")


def check_compiler() -> Iterator[Finding]:
    for name in filter(None, (os.environ.get("CXX"), "c++", "g++", "clang++")):
        if path := shutil.which(name):
            yield Finding("compiler", "ok", f"{path}: {_first_line(path, '--version')}")
            return
    yield Finding(
        "compiler",
        "warning",
        "there is no C++ compiler; it is needed whenever llama.cpp has to be built",
        "install one: apt install g++, dnf install gcc-c++, or pacman -S gcc",
    )


def check_disk() -> Iterator[Finding]:
    for name, directory in (
        ("models", paths.models_dir()),
        ("state", paths.state_dir()),
        ("cache", paths.index_database().parent),
    ):
        yield judge_directory(name, directory)


def judge_directory(name: str, directory: Path) -> Finding:
    """Whether copydraft can write there; the directory need not be there yet."""
    present = next(path for path in (directory, *directory.parents) if path.exists())
    if not os.access(present, os.W_OK | os.X_OK):
        return Finding(name, "problem", f"you may not write into {present}", "mend its permissions")
    free = shutil.disk_usage(present).free
    if free < _LEAST_FREE_BYTES:
        return Finding(
            name,
            "warning",
            f"{directory} has only {amount(free)} free",
            "free some; `copydraft model list` shows what models take",
        )
    return Finding(name, "ok", f"{directory}, {amount(free)} free")


def _first_line(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    return next(iter(done.stdout.splitlines()), "")
