"""The extension's own tests (vscode-extension/test), in the extension host of a real VS Code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.vscode.install import EXTENSION

TESTS = EXTENSION / "test"


def names(*sources: Path) -> list[str]:
    """The tests in these files."""
    return [
        name
        for source in sources
        for name in re.findall(r'^test\("([^"]+)"', source.read_text(), flags=re.MULTILINE)
    ]


@pytest.mark.timeout(1800)  # the first time, VS Code is installed
@pytest.mark.parametrize("name", names(*sorted(TESTS.glob("*.test.ts"))))
def test_in_the_extension_host(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes.get(name, "it was not run, or did not end") == ""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", names(TESTS / "folders.ts"))
def test_in_a_workspace_of_several_folders(name: str, outcomes_in_folders: dict[str, str]) -> None:
    assert outcomes_in_folders.get(name, "it was not run, or did not end") == ""
