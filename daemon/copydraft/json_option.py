"""The option `--json`, which everything that prints has."""

from __future__ import annotations

import click

JSON = "copydraft.json"
"""Key of the context's memory that is set where faults, too, are told as JSON."""


def _remember_json(context: click.Context, _: click.Parameter, value: bool) -> bool:
    """Given to a group, it holds for the group's command, too."""
    if value:
        context.meta[JSON] = True
    return JSON in context.meta


json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    is_eager=True,
    callback=_remember_json,
    help="Print one JSON object on stdout and nothing else there.",
)
