"""The command line: arguments and options only; what they do is imported when it is asked for."""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from copydraft import __version__
from copydraft.cli_options import file_argument, generation_of, lines_option, with_generation
from copydraft.errors import BadRequest, Cancelled, CopydraftError, DiskProblem
from copydraft.json_option import JSON, json_option
from copydraft.printable import printable

# Everything else is imported inside the commands: `--help` and `status` must answer at once.
# ruff: noqa: PLC0415

_EDIT_FORMATS = ("fence", "search-replace", "unified-diff", "tool-call", "plain")


class _Root(click.Group):
    """Turns every fault into one line on stderr (and an object on stdout with --json)."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            fault: CopydraftError = Cancelled("interrupted")
        except CopydraftError as error:
            fault = error
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            number = error.errno if isinstance(error, OSError) else None
            if number == errno.EPIPE or os.environ.get("COPYDRAFT_DEBUG"):
                raise  # click ends quietly when the reader of our output has left
            if number in (errno.ENOSPC, errno.EDQUOT):
                fault = DiskProblem(f"cannot write: {error}", "free some space")
                _drop_output()
            else:
                fault = CopydraftError(
                    f"this is a bug: {type(error).__name__}: {error}",
                    "please report it, with what COPYDRAFT_DEBUG=1 prints for the same command",
                )
        report(fault, as_json=JSON in context.meta)
        sys.exit(fault.exit_status)


def _drop_output() -> None:
    """Let Python's own flush at the end succeed, which would else decide the exit status."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report(fault: CopydraftError, *, as_json: bool = False) -> None:
    """One line on stderr and one that says what to do; with `as_json`, an object on stdout too."""
    click.echo(f"{click.style('copydraft:', fg='red')} {printable(fault.message)}", err=True)
    if fault.hint:
        click.echo(f"  → {printable(fault.hint)}", err=True)
    if as_json:
        error = {"code": fault.code, "message": fault.message, "hint": fault.hint}
        with contextlib.suppress(OSError):  # that stdout is full may be the fault
            click.echo(json.dumps({"error": error, **fault.answer}))


# --- requests -------------------------------------------------------------------------------


@click.group(cls=_Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="copydraft %(version)s")
def cli() -> None:
    """Local code edits at copying speed: the draft is the text already in reach."""


@cli.command()
@file_argument
@lines_option
@click.option(
    "-i", "--instruction", required=True, help="What to do, in words; `-` reads it from stdin."
)
@click.option("--write", is_flag=True, help="Write the edit into the file.")
@click.option("--format", "form", type=click.Choice(_EDIT_FORMATS), help="How edits are written.")
@with_generation
@json_option
def edit(
    file: Path, lines: str, instruction: str, write: bool, form: Any, as_json: bool, **options: Any
) -> None:
    """Rewrite lines of FILE as an instruction says, and print the diff."""
    from copydraft import ask

    if instruction == "-":
        instruction = _stdin()
    if not instruction.strip():
        raise BadRequest("the instruction is empty", "say what to do: -i 'Add type hints'")
    target = ask.Target.read(file, lines)
    generation = generation_of(**options)
    ask.edit(target, instruction, generation, edit_format=form or "", write=write, as_json=as_json)


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        at, byte = error.start, error.object[error.start]
        raise BadRequest(
            f"the instruction is not UTF-8: byte {at} is 0x{byte:02x}",
            "convert it to UTF-8, say by iconv -f LATIN1 -t UTF-8",
        ) from error


@cli.command()
@file_argument
@lines_option
@click.option("-q", "--question", default="", help="What to explain in particular.")
@with_generation
@json_option
def explain(file: Path, lines: str, question: str, as_json: bool, **options: Any) -> None:
    """Explain lines of FILE in Markdown."""
    from copydraft import ask

    target = ask.Target.read(file, lines)
    ask.explain(target, question, generation_of(**options), as_json=as_json)


# --- models ---------------------------------------------------------------------------------


@cli.group("model")
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
@json_option
def model_pull(name: str, as_json: bool) -> None:
    """Download a model. What was interrupted goes on where it stopped."""
    from copydraft import terminal_models

    path = terminal_models.pull(name)
    _say(f"{name} is at {path}", as_json, name=name, path=str(path))


@model_group.command("use")
@click.argument("name")
@json_option
def model_use(name: str, as_json: bool) -> None:
    """Choose the model, by name or path. It is used wherever none is named."""
    from copydraft.models import library

    file = library.use(name)
    _say(f"{name} is now the model ({file})", as_json, model=name, config=str(file))


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


# --- the daemon -----------------------------------------------------------------------------


@cli.group("daemon")
def daemon_group() -> None:
    """Start, stop and watch the daemon. Requests start it by themselves."""


@daemon_group.command("start")
def daemon_start() -> None:
    """Start the daemon if it is not running."""
    from copydraft import control

    control.start()


@daemon_group.command("stop")
def daemon_stop() -> None:
    """Stop the daemon. Running requests are cancelled."""
    from copydraft import control

    control.stop()


@daemon_group.command("restart")
def daemon_restart() -> None:
    """Stop the daemon and start it again. It then has the settings as they are now."""
    from copydraft import control

    control.stop()
    control.start()


@daemon_group.command("unload")
def daemon_unload() -> None:
    """Free the model's memory. The next request loads it again."""
    from copydraft import control

    control.unload()


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
def daemon_logs(count: int, follow: bool) -> None:
    """Print the daemon's log."""
    from copydraft import control

    control.logs(count, follow=follow)


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show the daemon, its model and the device really used."""
    from copydraft import control

    control.status(as_json=as_json)


cli.add_command(status)
daemon_group.add_command(status)


@cli.group("stats", invoke_without_command=True)
@click.option("--days", type=click.IntRange(1, 36_500), help="Only the last N days.")
@json_option
@click.pass_context
def stats_group(context: click.Context, days: int | None, as_json: bool) -> None:
    """Show what requests cost and what drafting brought."""
    from copydraft import control

    if context.invoked_subcommand is None:
        control.stats(days, as_json=as_json)


@stats_group.command("clear")
def stats_clear() -> None:
    """Erase all statistics."""
    from copydraft import control

    control.clear_stats()


# --- this machine ---------------------------------------------------------------------------


@cli.group("config")
def config_group() -> None:
    """Look at the settings."""


@config_group.command("show")
@json_option
def config_show(as_json: bool) -> None:
    """Show every setting, its value and where that comes from."""
    from copydraft import control

    control.show_settings(as_json=as_json)


@cli.command()
@click.option("--format", "formats", is_flag=True, help="Try the answer formats on the model.")
@json_option
def doctor(formats: bool, as_json: bool) -> None:
    """Say what keeps copydraft from working here. Each problem comes with what mends it."""
    if formats:
        from copydraft import format_trial

        sys.exit(format_trial.examine(as_json=as_json))
    from copydraft import control

    sys.exit(control.examine(as_json=as_json))


# --- measuring -------------------------------------------------------------------------------


def _forwarded(name: str, module: str, summary: str) -> click.Command:
    """A command whose arguments are declared in another module, imported when it is called."""

    @click.command(
        name,
        help=summary,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    @click.pass_context
    def forward(context: click.Context, arguments: tuple[str, ...]) -> Any:
        command = getattr(importlib.import_module(module), f"{name}_command")
        with command.make_context(name, list(arguments), parent=context.parent) as inner:
            return command.invoke(inner)

    return forward


for _name, _module, _summary in (
    ("profile", "profile_command", "Learn from a repository's edits how to draft here."),
    ("replay", "commands", "Replay traces or edit tasks through drafters, without a model."),
    ("bench", "bench", "Measure drafting on a real model."),
):
    cli.add_command(_forwarded(_name, f"copydraft.evaluation.{_module}", _summary))


def main() -> None:
    cli(prog_name="copydraft")
