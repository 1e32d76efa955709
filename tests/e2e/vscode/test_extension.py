"""The extension's own tests (vscode-extension/test), in the extension host of a real VS Code."""

from __future__ import annotations

import re

import pytest

from tests.e2e.vscode.install import EXTENSION

NAMES = [
    name
    for source in sorted((EXTENSION / "test").glob("*.test.ts"))
    for name in re.findall(r'^test\("([^"]+)"', source.read_text(), flags=re.MULTILINE)
]


@pytest.mark.timeout(1800)  # the first time, VS Code is installed
@pytest.mark.parametrize("name", NAMES)
def test_in_the_extension_host(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes.get(name, "it was not run, or did not end") == ""
