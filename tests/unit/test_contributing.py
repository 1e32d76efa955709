"""CONTRIBUTING.md names every module, so that a newcomer finds the one that matters."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "daemon" / "copydraft"


def test_every_module_or_its_directory_is_listed_and_nothing_else() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    directories = {name for name in listed if name.endswith("/")}
    modules = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py"
    }
    covered = {name for name in modules if name.startswith(tuple(directories))}
    assert modules - covered == listed - directories
    assert all((PACKAGE / name).is_dir() for name in directories)
