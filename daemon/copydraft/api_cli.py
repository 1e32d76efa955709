"""`copydraft api`: arguments and options only; `terminal_api` does the work."""

from __future__ import annotations

import click

from copydraft.json_option import json_option

# The work is imported inside the commands: `--help` must answer at once.
# ruff: noqa: PLC0415


@click.group("api", invoke_without_command=True)
@json_option
@click.pass_context
def api_group(context: click.Context, as_json: bool) -> None:
    """Let coding agents use the model, by an API as OpenAI's."""
    from copydraft import terminal_api

    if context.invoked_subcommand is None:
        terminal_api.show(as_json=as_json)


@api_group.command("on")
@click.option("--port", type=click.IntRange(1, 65535), help="Port of 127.0.0.1; at first 8137.")
@click.option("--new-key", is_flag=True, help="Make another key; the one before is refused then.")
@json_option
def api_on(port: int | None, new_key: bool, as_json: bool) -> None:
    """Serve agents on a port of this machine, to those who have the key."""
    from copydraft import terminal_api

    terminal_api.switch_on(port, new_key=new_key, as_json=as_json)


@api_group.command("off")
@json_option
def api_off(as_json: bool) -> None:
    """Close the port. The key is kept for the next time."""
    from copydraft import terminal_api

    terminal_api.switch_off(as_json=as_json)


@api_group.command("key")
@json_option
def api_key(as_json: bool) -> None:
    """Print the key and nothing else."""
    from copydraft import terminal_api

    terminal_api.print_key(as_json=as_json)
