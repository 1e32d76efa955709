"""The command line: arguments and options only; what they do is imported when it is asked for."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click

from copydraft import __version__
from copydraft.api_cli import api_group
from copydraft.cli_options import file_argument, generation_of, lines_option, with_generation
from copydraft.daemon_cli import daemon_group, stats_group, status
from copydraft.errors import BadRequest, Cancelled, CopydraftError, DiskProblem
from copydraft.index_cli import index_group
from copydraft.json_option import JSON, json_option
from copydraft.model_cli import model_group
from copydraft.printable import printable

# Everything else is imported inside the commands: `--help` and `status` must answer at once.
# ruff: noqa: PLC0415

_ARGUMENTS = "copydraft.arguments"
"""Key of the context's memory that has all arguments, as they were given."""

_EDIT_FORMATS = ("fence", "search-replace", "unified-diff", "tool-call", "plain")


class _Root(click.Group):
    """Turns every fault into one line on stderr (and an object on stdout with --json)."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        context.meta[_ARGUMENTS] = tuple(args)
        try:
            return super().parse_args(context, args)
        except click.UsageError as error:
            self._refuse(error, context)

    def _refuse(self, error: click.UsageError, context: click.Context) -> NoReturn:
        """End by arguments that are wrong; click may have stopped before it came to --json."""
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            raise error
        fault = _misuse(error)
        report(fault, as_json="--json" in context.meta[_ARGUMENTS])
        sys.exit(fault.exit_status)

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            fault: CopydraftError = Cancelled("interrupted")
        except CopydraftError as error:
            fault = error
        except click.UsageError as error:
            self._refuse(error, context)
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


def _misuse(error: click.UsageError) -> BadRequest:
    said = error.format_message().removesuffix(".")
    called = error.ctx.command_path if error.ctx else "copydraft"
    return BadRequest(said[:1].lower() + said[1:], f"`{called} --help` says how it is called")


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


@click.group("copydraft", cls=_Root, context_settings={"help_option_names": ["-h", "--help"]})
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
    """Rewrite lines of FILE as told, and print the diff."""
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
        if sys.stdin is None:  # it was closed before we began
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return sys.stdin.buffer.read().decode("utf-8")
    except OSError as error:
        raise BadRequest(
            f"cannot read the instruction from stdin: {error.strerror}",
            "pipe it in, or give it as -i 'Add type hints'",
        ) from error
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


@cli.command()
@file_argument
@click.option(
    "--at",
    "place",
    required=True,
    metavar="LINE:COLUMN",
    help="Where to write, both counted from 1; the column behind a line's end is one more.",
)
@with_generation
@json_option
def complete(file: Path, place: str, as_json: bool, **options: Any) -> None:
    """Write what belongs at a place in FILE, and print it."""
    from copydraft import ask

    ask.complete(file, place, generation_of(**options), as_json=as_json)


# --- groups of commands ---------------------------------------------------------------------

for _group in (model_group, index_group, daemon_group, api_group):
    cli.add_command(_group)
for _command in (status, stats_group):
    cli.add_command(_command)


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
        # llama.cpp remarks on vocabularies, which nobody can mend.
        logging.getLogger("copydraft.engine.llama").setLevel(logging.ERROR)
        with command.make_context(name, list(arguments), parent=context.parent) as inner:
            return command.invoke(inner)

    return forward


for _name, _module, _summary in (
    ("profile", "profile_command", "Learn from a repository's edits how to draft here."),
    ("replay", "commands", "Replay traces or edit tasks through drafters, without a model."),
    ("bench", "bench", "Measure drafting on a real model."),
):
    cli.add_command(_forwarded(_name, f"copydraft.evaluation.{_module}", _summary))


def printing_anything(stream: TextIO) -> None:
    """Let no text fail on `stream`, as in a locale without UTF-8; what is piped is exact."""
    if not isinstance(stream, io.TextIOWrapper):
        return
    if stream.isatty():
        stream.reconfigure(errors="backslashreplace")
    else:
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def main() -> None:
    printing_anything(sys.stdout)
    cli(prog_name="copydraft")
