"""CONTRIBUTING.md names every module, so that a newcomer finds the one that matters."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {"": ROOT / "daemon" / "copydraft", "lsp/": ROOT / "lsp" / "copydraft_lsp"}


def test_every_module_or_its_directory_is_listed_and_nothing_else() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    text = text.split("\n## Modules\n")[1].split("\n## ")[0]
    listed = set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    directories = {name for name in listed if name.endswith("/")}
    modules = {
        prefix + str(path.relative_to(package))
        for prefix, package in PACKAGES.items()
        for path in package.rglob("*.py")
        if path.name != "__init__.py"
    }
    covered = {name for name in modules if name.startswith(tuple(directories))}
    assert modules - covered == listed - directories
    assert all((PACKAGES[""] / name).is_dir() for name in directories)


def test_every_test_that_keeps_a_trap_away_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"`(test_\w+)`", text.split("## Traps of drafters")[1]))
    there = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 13
    assert {name for name in named if f"def {name}(" not in there} == set()
