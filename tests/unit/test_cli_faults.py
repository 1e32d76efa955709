"""What the command line says of faults: one line, a hint, and an exit status of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from copydraft import ask, cli, terminal_models
from copydraft.errors import ModelProblem, OutOfMemory
from tests.fixtures.fake_client import (
    FakeClient,
    run,
)

ROOT = Path(__file__).parents[2]


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def test_a_fault_is_one_line_with_a_hint_and_its_own_exit_status(
    client: type[FakeClient], file: Path
) -> None:
    client.events = [OutOfMemory("the model needs 9 GB", "choose a smaller one")]
    result = run("edit", file, "-i", "x")
    assert result.stderr == "copydraft: the model needs 9 GB\n  → choose a smaller one\n"
    assert (result.stdout, result.exit_code) == ("", 6)


def test_a_fault_with_json_is_an_object_on_stdout(client: type[FakeClient], file: Path) -> None:
    client.events = [OutOfMemory("the model needs 9 GB", "choose a smaller one")]
    result = run("edit", file, "-i", "x", "--json")
    assert json.loads(result.stdout) == {
        "error": {
            "code": "memory",
            "message": "the model needs 9 GB",
            "hint": "choose a smaller one",
        }
    }
    assert result.exit_code == 6


@pytest.mark.parametrize(
    ("arguments", "message", "help_of"),
    [
        (["edit", "a.txt"], "missing option '-i' / '--instruction'", "copydraft edit"),
        (["explain"], "missing argument 'FILE'", "copydraft explain"),
        (["stats", "--day"], "no such option '--day'. Did you mean '--days'?", "copydraft stats"),
        (["model", "fetch"], "no such command 'fetch'", "copydraft model"),
        (["zzz"], "no such command 'zzz'", "copydraft"),
        (["--fetch"], "no such option '--fetch'", "copydraft"),
        (["replay"], "missing argument 'FILE'", "copydraft replay"),
    ],
)
def test_arguments_that_are_wrong_are_one_line_with_a_hint_and_json(
    arguments: list[str], message: str, help_of: str
) -> None:
    hint = f"`{help_of} --help` says how it is called"
    plain = run(*arguments)
    assert (plain.stdout, plain.stderr) == ("", f"copydraft: {message}\n  → {hint}\n")
    assert plain.exit_code == 2
    shown = run(*arguments, "--json")
    error = {"code": "bad-request", "message": message, "hint": hint}
    assert (json.loads(shown.stdout), shown.exit_code) == ({"error": error}, 2)


def test_a_group_without_a_command_shows_its_help() -> None:
    assert run("model").stderr.startswith("Usage: ")


def test_what_a_model_file_says_cannot_steer_the_terminal(
    client: type[FakeClient], file: Path
) -> None:
    client.events = [ModelProblem("unknown architecture \x1b[2J", "see \x9b2J")]
    assert run("edit", file, "-i", "x").stderr == (
        "copydraft: unknown architecture ␛[2J\n  → see \\x9b2J\n"
    )


def test_a_bug_is_one_line_without_a_traceback(client: type[FakeClient], file: Path) -> None:
    client.events = [ZeroDivisionError("division by zero")]
    result = run("edit", file, "-i", "x")
    assert result.stderr == (
        "copydraft: this is a bug: ZeroDivisionError: division by zero\n"
        "  → please report it, with what COPYDRAFT_DEBUG=1 prints for the same command\n"
    )
    assert result.exit_code == 1


def test_a_bug_shows_its_traceback_when_asked(
    client: type[FakeClient], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPYDRAFT_DEBUG", "1")
    client.events = [ZeroDivisionError("division by zero")]
    assert isinstance(run("edit", file, "-i", "x").exception, ZeroDivisionError)


def test_output_to_a_full_disk_is_a_fault_of_the_disk() -> None:
    code = "from copydraft.cli import main; main()"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, "config", "show", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
        )
    assert done.returncode == 8
    assert done.stderr == (
        "copydraft: cannot write: [Errno 28] No space left on device\n  → free some space\n"
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_pipe_gets_utf_8_whatever_the_locale_and_names_byte_for_byte(
    encoding: str, tmp_path: Path
) -> None:
    home = os.fsencode(tmp_path) + b"/\xff \xe2\x96\x88"
    done = subprocess.run(
        [sys.executable, "-c", "from copydraft.cli import main; main()", "config", "show"],
        env={**os.environb, b"PYTHONIOENCODING": encoding.encode(), b"XDG_CONFIG_HOME": home},
        capture_output=True,
        check=False,
    )
    assert done.stdout.startswith(home + b"/copydraft/config.toml (not there)\n")
    assert (done.stderr, done.returncode) == (b"", 0)


def test_a_terminal_gets_what_its_encoding_has_and_the_rest_escaped() -> None:
    stream = io.TextIOWrapper(Terminal(), "latin-1")
    cli.printing_anything(stream)
    stream.write("\xe9 █")
    stream.flush()
    assert stream.buffer.getvalue() == b"\xe9 \\u2588"


@pytest.mark.parametrize("stdin", ["0<&-", "0>/dev/null"])
def test_an_instruction_from_a_stdin_that_cannot_be_read_is_refused(stdin: str, file: Path) -> None:
    command = f'exec "$0" -m copydraft edit "$1" -i - {stdin}'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, str(file)],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.stderr == (
        "copydraft: cannot read the instruction from stdin: Bad file descriptor\n"
        "  → pipe it in, or give it as -i 'Add type hints'\n"
    )
    assert done.returncode == 2


@pytest.mark.parametrize("start", ["python -m copydraft", "copydraft"])
def test_ctrl_c_while_the_command_line_is_imported_is_one_line(start: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["copydraft"].partition(":")
    ways = {
        "python -m copydraft": "runpy.run_module('copydraft', run_name='__main__')",
        "copydraft": f"from {module} import {function}; {function}()",  # as pip's script does it
    }
    code = f"""if True:
        import runpy, sys

        class CtrlC:
            def find_spec(self, name, *_):
                if name == "copydraft.cli_options":
                    raise KeyboardInterrupt

        sys.meta_path.insert(0, CtrlC())
        {ways[start]}
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert (done.stderr, done.returncode) == ("copydraft: interrupted\n", 130)


def test_llama_cpps_remarks_do_not_stand_among_a_reports_lines() -> None:
    code = """if True:
        import click, logging
        from copydraft import cli
        from copydraft.evaluation import commands

        @click.command("replay")
        def remark():
            logging.getLogger("copydraft.engine.llama").warning("load: an odd token")
            logging.getLogger("copydraft.index.store").warning("the database is damaged")

        commands.replay_command = remark
        cli.main()
    """
    done = subprocess.run(
        [sys.executable, "-c", code, "replay"], capture_output=True, check=True, text=True
    )
    assert done.stderr == "the database is damaged\n"


def test_a_missing_file_is_told_before_anything_is_downloaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(terminal_models, "ready", lambda _: pytest.fail("asked for a model"))
    result = run("edit", tmp_path / "missing.py", "-i", "x")
    assert result.stderr.startswith(f"copydraft: {tmp_path}/missing.py does not exist\n")
    assert result.exit_code == 3


@pytest.mark.parametrize(
    ("lines", "start", "end"),
    [(":", 0, 5), ("2:4", 1, 4), ("3", 2, 3), ("4:", 3, 5), (":2", 0, 2), ("1:5", 0, 5)],
)
def test_lines_count_from_one_with_both_ends_included(lines: str, start: int, end: int) -> None:
    assert ask.Lines.parse(lines).within("a\nb\nc\nd\ne\n") == (start, end)


@pytest.mark.parametrize("lines", ["", "0", "0:3", "3:2", "-1:2", "a:b", "1:2:3", "1-2", "1.5"])
def test_what_is_not_a_range_of_lines_is_refused(
    client: type[FakeClient], file: Path, lines: str
) -> None:
    result = run("edit", file, f"--lines={lines}", "-i", "x")
    assert result.stderr == (
        f"copydraft: these are not lines: {lines!r}\n"
        "  → give the first and the last, counted from 1, as in --lines 10:40\n"
    )
    assert result.exit_code == 2


@pytest.mark.parametrize("lines", ["4", "2:4", "4:", "90:100"])
def test_lines_outside_the_file_are_refused(
    client: type[FakeClient], file: Path, lines: str
) -> None:
    result = run("edit", file, "--lines", lines, "-i", "x")
    assert "are not in the file, which has 3 lines" in result.stderr
    assert result.exit_code == 2


def test_a_reader_that_leaves_early_is_no_fault(client: type[FakeClient], file: Path) -> None:
    code = "from copydraft.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "model", "list", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
