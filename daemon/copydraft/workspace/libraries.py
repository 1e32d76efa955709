"""Code of other people that a workspace calls into: what the global corpus is made of.

Found by looking, never by running an interpreter of the workspace.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_PYTHON = (".py", ".pyi")
_DECLARATIONS = (".d.ts", ".d.mts", ".d.cts")
_DEPTH = 2
"""Directories below the workspace in which environments are looked for."""


class Library(NamedTuple):
    """A directory to index, and the files of it that are wanted; () for all text."""

    root: Path
    suffixes: tuple[str, ...]


def libraries_of(workspace: Path) -> list[Library]:
    """Standard libraries and packages of the Python environments; declarations of node packages."""
    found: dict[Path, Library] = {}
    for directory in _directories(workspace, _DEPTH):
        if directory.name == "node_modules":
            found[directory] = Library(directory, _DECLARATIONS)
        elif _is_environment(directory):
            for root in (*_packages(directory), *_standard_library(directory / "pyvenv.cfg")):
                found[root] = Library(root, _PYTHON)
    return list(found.values())


def installed_at(library: Library) -> int:
    """When a package was last installed or removed, in ns; equality alone has a meaning.

    What is changed inside of a package is not seen.
    """
    try:
        scopes = [path for path in library.root.iterdir() if path.name.startswith("@")]
        return max(path.lstat().st_mtime_ns for path in (library.root, *scopes))
    except OSError:
        return 0


def _is_environment(directory: Path) -> bool:
    try:
        return (directory / "pyvenv.cfg").is_file()
    except OSError:  # not for us to look into
        return False


def _directories(root: Path, depth: int) -> Iterator[Path]:
    try:
        # Most entries are files, and there may be very many: none of them is looked at.
        with os.scandir(root) as entries:
            names = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
    except OSError:
        return
    for name in names:
        path = root / name
        yield path
        if depth > 1 and not name.startswith(".") and name != "node_modules":
            yield from _directories(path, depth - 1)


def _packages(environment: Path) -> list[Path]:
    found = sorted(path.resolve() for path in environment.glob("lib/python3*/site-packages"))
    # A link out of it may lead to anything, to another workspace as well.
    return [path for path in found if path.is_relative_to(environment.resolve())]


def _standard_library(settings: Path) -> list[Path]:
    """The standard library of the interpreter that an environment was made with."""
    try:
        lines = settings.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    values = {key.strip(): value.strip() for key, _, value in (s.partition("=") for s in lines)}
    version = values.get("version") or values.get("version_info") or ""
    name = "python" + ".".join(version.split(".")[:2])
    # `home` is the directory of the interpreter.
    root = Path(values.get("home", "")).parent / "lib" / name
    return [root.resolve()] if (root / "os.py").is_file() else []
