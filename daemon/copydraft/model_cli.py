"""`copydraft model`: arguments and options only; the work is done elsewhere."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from copydraft.json_option import json_option

# The work is imported inside the commands: `--help` must answer at once.
# ruff: noqa: PLC0415


@click.group("model")
def model_group() -> None:
    """List, download, choose and remove models."""


@model_group.command("list")
@json_option
def model_list(as_json: bool) -> None:
    """Show all models that are known by name, and what is here."""
    from copydraft import terminal_models

    terminal_models.show_all(as_json=as_json)


@model_group.command("pull")
@click.argument("name")
@click.option(
    "--json-progress", is_flag=True, help="Tell the progress on stderr as JSON, one object a line."
)
@json_option
def model_pull(name: str, json_progress: bool, as_json: bool) -> None:
    """Download a model. What was interrupted goes on where it stopped."""
    from copydraft import terminal_models

    path = terminal_models.pull(name, json_progress=json_progress)
    _say(f"{name} is at {path}", as_json, name=name, path=str(path))


@model_group.command("use")
@click.argument("name")
@json_option
def model_use(name: str, as_json: bool) -> None:
    """Choose the model, by name or path. It is used wherever none is named."""
    from copydraft.models import library

    file = library.use(name)
    _say(f"{name} is now the model ({file})", as_json, model=name, config=str(file))
    forced = os.environ.get("COPYDRAFT_MODEL", name)
    if forced != name:
        click.echo(f"here, COPYDRAFT_MODEL={forced} in the environment goes before it", err=True)


@model_group.command("path")
@click.argument("name")
@json_option
def model_path(name: str, as_json: bool) -> None:
    """Print where the file of a model is."""
    from copydraft.models import library

    path = library.resolve(name)
    _say(str(path), as_json, name=name, path=str(path))


@model_group.command("remove")
@click.argument("name")
@json_option
def model_remove(name: str, as_json: bool) -> None:
    """Delete a downloaded model."""
    from copydraft.models import library

    freed = library.remove(name)
    _say(f"{name} is removed: {freed / 1e9:.2f} GB freed", as_json, name=name, freed_bytes=freed)


def _say(text: str, as_json: bool, **fields: Any) -> None:
    click.echo(json.dumps(fields) if as_json else text)
