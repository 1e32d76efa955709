"""`copydraft index`: arguments and options only; `terminal_index…` does the work."""

from __future__ import annotations

from pathlib import Path

import click

from copydraft.cli_options import model_option
from copydraft.json_option import json_option

# The work is imported inside the commands: `--help` must answer at once.
# ruff: noqa: PLC0415


_path_argument = click.argument("path", type=click.Path(path_type=Path))


@click.group("index")
def index_group() -> None:
    """Show, fill and clear the index of text to draft from."""


@index_group.command("status")
@json_option
def index_status(as_json: bool) -> None:
    """Show what is indexed: documents, tokens, sizes."""
    from copydraft import terminal_index

    terminal_index.show_status(as_json=as_json)


@index_group.command("add")
@_path_argument
@model_option
@json_option
def index_add(path: Path, model: str, as_json: bool) -> None:
    """Index a workspace now, and the libraries that it uses."""
    from copydraft import terminal_indexing

    terminal_indexing.add(path, model=model, as_json=as_json)


@index_group.command("rebuild")
@model_option
@json_option
def index_rebuild(model: str, as_json: bool) -> None:
    """Index everything from the beginning."""
    from copydraft import terminal_indexing

    terminal_indexing.rebuild(model=model, as_json=as_json)


@index_group.command("clear")
@json_option
def index_clear(as_json: bool) -> None:
    """Delete the index. It fills again as workspaces are opened."""
    from copydraft import terminal_index

    terminal_index.clear(as_json=as_json)


@index_group.group("global")
def index_global() -> None:
    """Directories whose text every workspace may draft from."""


@index_global.command("add")
@_path_argument
@model_option
@json_option
def index_global_add(path: Path, model: str, as_json: bool) -> None:
    """Add a directory, and index it now."""
    from copydraft import terminal_indexing

    terminal_indexing.add_global(path, model=model, as_json=as_json)
