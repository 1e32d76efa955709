"""What the language server may know of the daemon."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "lsp" / "copydraft_lsp"

ALLOWED = {
    *("client", "protocol", "errors", "textedits", "paths", "config"),
    *("secret_names", "__version__"),
}


def imported(path: Path) -> Iterator[str]:
    """Names directly under `copydraft` that a module imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("copydraft."))


def test_it_knows_the_client_and_the_leaves_and_nothing_else() -> None:
    found = {name for path in PACKAGE.rglob("*.py") for name in imported(path)}
    assert found <= ALLOWED
    assert "client" in found
