"""`copydraft daemon`, `status` and `stats`: arguments and options only; `control` does the work."""

from __future__ import annotations

import click

from copydraft.errors import BadRequest
from copydraft.json_option import json_option

# The work is imported inside the commands: `--help` must answer at once.
# ruff: noqa: PLC0415

_APART = "leave one of them out"


@click.group("daemon")
def daemon_group() -> None:
    """Start, stop and watch the daemon. Requests start it by themselves."""


@daemon_group.command("start")
@json_option
def daemon_start(as_json: bool) -> None:
    """Start the daemon if it is not running."""
    from copydraft import control

    control.start(as_json=as_json)


@daemon_group.command("stop")
@json_option
def daemon_stop(as_json: bool) -> None:
    """Stop the daemon. Running requests are cancelled."""
    from copydraft import control

    control.stop(as_json=as_json)


@daemon_group.command("restart")
@json_option
def daemon_restart(as_json: bool) -> None:
    """Stop the daemon and start it again. It then has the settings as they are now."""
    from copydraft import control

    control.restart(as_json=as_json)


@daemon_group.command("unload")
@json_option
def daemon_unload(as_json: bool) -> None:
    """Free the model's memory. The next request loads it again."""
    from copydraft import control

    control.unload(as_json=as_json)


@daemon_group.command("run")
def daemon_run() -> None:
    """Be the daemon, in the foreground."""
    from copydraft import app, config

    app.run_daemon(config.load())


@daemon_group.command("logs")
@click.option(
    "-n", "count", type=click.IntRange(0), default=50, show_default=True, help="Last lines shown."
)
@click.option("-f", "--follow", is_flag=True, help="Go on with new lines as they come.")
@json_option
def daemon_logs(count: int, follow: bool, as_json: bool) -> None:
    """Print the daemon's log."""
    from copydraft import control

    control.logs(count, follow=follow, as_json=as_json)


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show the daemon, its model and the device really used."""
    from copydraft import control

    control.status(as_json=as_json)


daemon_group.add_command(status)


@click.group("stats", invoke_without_command=True)
@click.option("--days", type=click.IntRange(1, 36_500), help="Only the last N days.")
@click.option("--web", is_flag=True, help="Show them live in the browser, on this machine only.")
@json_option
@click.pass_context
def stats_group(context: click.Context, days: int | None, web: bool, as_json: bool) -> None:
    """Show what requests cost and what drafting brought."""
    from copydraft import control

    if context.invoked_subcommand is not None:
        # Somebody who names days would have all of them erased.
        for option, given in (("--days", days), ("--web", web)):
            if given:
                raise BadRequest(f"`clear` takes no {option}: it erases all statistics", _APART)
        return
    if web and days:
        raise BadRequest("--days and --web do not go together", _APART)
    if web:
        control.web_stats(as_json=as_json)
    else:
        control.stats(days, as_json=as_json)


@stats_group.command("clear")
@json_option
def stats_clear(as_json: bool) -> None:
    """Erase all statistics."""
    from copydraft import control

    control.clear_stats(as_json=as_json)
