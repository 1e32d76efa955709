"""The command line: its commands, and requests with a client that plays a daemon."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from copydraft import cli, protocol
from copydraft.protocol import (
    Delta,
    EditRequest,
    EditResult,
    ExplainRequest,
    Notice,
    Prefill,
)
from tests.fixtures.fake_client import (
    EDIT,
    EXPLANATION,
    STATS,
    SUMMARY,
    FakeClient,
    run,
)

ROOT = Path(__file__).parents[2]


def commands(group: click.Group, prefix: str = "copydraft") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield f"{prefix} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")


@pytest.mark.parametrize(("name", "command"), list(commands(cli.cli)))
def test_every_command_and_option_has_help(name: str, command: click.Command) -> None:
    assert command.help
    for parameter in command.params:
        assert isinstance(parameter, click.Argument) or getattr(parameter, "help", None), name


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, command in commands(cli.cli)
        if not isinstance(command, click.Group) and name != "copydraft daemon run"
    ],
)
def test_every_command_that_prints_something_takes_json(name: str) -> None:
    assert "--json" in run(*name.split()[1:], "--help").stdout


@pytest.mark.parametrize("name", [name for name, _ in commands(cli.cli)])
def test_every_command_is_in_the_readme(name: str) -> None:
    """In full, or in a row that begins with another command of its group."""
    group, _, last = name.rpartition(" ")
    assert any(
        name in line or (f"`{group} " in line and f"`{last}`" in line)
        for line in (ROOT / "README.md").read_text("utf-8").splitlines()
    )


def test_version_is_the_packages() -> None:
    assert run("--version").stdout == "copydraft 0.1.0\n"


def test_help_imports_nothing_slow() -> None:
    code = (
        "import sys; from copydraft import cli; "
        "print(*{'rich', 'httpx', 'llama_cpp', 'msgspec', 'numpy', 'asyncio'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "\n"


def test_edit_prints_the_diff_and_nothing_else_on_stdout(
    client: type[FakeClient], file: Path
) -> None:
    result = run("edit", file, "--lines", "2:2", "-i", "upper case")
    assert (result.stdout, result.exit_code) == (EDIT.diff, 0)
    assert result.stderr == SUMMARY
    assert file.read_text() == "a\nb\nc\n"


def test_edit_sends_the_lines_from_zero_with_the_end_exclusive(
    client: type[FakeClient], file: Path
) -> None:
    run("edit", file, "--lines", "2:3", "-i", "upper case", "--temperature", "0.5", "--seed", "7")
    assert client.requests == [
        EditRequest(
            region=protocol.Region(path=str(file), text="a\nb\nc\n", start=1, end=3),
            instruction="upper case",
            generation=protocol.Generation(
                model="default-model", sampling=protocol.Sampling(temperature=0.5, seed=7)
            ),
        )
    ]


@pytest.mark.parametrize("temperature", ["nan", "inf", "-1", "6"])
def test_a_temperature_that_is_none_is_refused(
    client: type[FakeClient], file: Path, temperature: str
) -> None:
    result = run("edit", file, "-i", "x", "--temperature", temperature)
    assert result.exit_code == 2
    assert "invalid value for '--temperature'" in result.stderr
    assert client.requests == []


def test_edit_of_no_lines_is_of_the_whole_file(client: type[FakeClient], file: Path) -> None:
    run("edit", file, "-i", "upper case")
    assert (client.requests[0].region.start, client.requests[0].region.end) == (0, 3)


def test_no_draft_and_strict_reach_the_daemon(client: type[FakeClient], file: Path) -> None:
    run("edit", file, "-i", "x", "--no-draft", "--strict", "--model", "m")
    assert client.requests[0].generation == protocol.Generation(model="m", draft=False, strict=True)


def test_strict_can_be_switched_on_by_the_environment(
    client: type[FakeClient], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPYDRAFT_STRICT", "true")
    run("edit", file, "-i", "x")
    assert client.requests[0].generation.strict


def test_the_instruction_may_come_from_stdin(client: type[FakeClient], file: Path) -> None:
    run("edit", file, "-i", "-", stdin="upper case\n")
    assert isinstance(client.requests[0], EditRequest)
    assert client.requests[0].instruction == "upper case\n"


def test_an_instruction_from_stdin_that_is_not_utf_8_is_refused(
    client: type[FakeClient], file: Path
) -> None:
    result = run("edit", file, "-i", "-", stdin=b"caf\xe9\n")
    assert result.stderr.startswith("copydraft: the instruction is not UTF-8: byte 3 is 0xe9\n")
    assert (client.requests, result.exit_code) == ([], 2)


def test_an_empty_instruction_is_refused(client: type[FakeClient], file: Path) -> None:
    result = run("edit", file, "-i", "  ")
    assert result.stderr == (
        "copydraft: the instruction is empty\n  → say what to do: -i 'Add type hints'\n"
    )
    assert result.exit_code == 2


def test_write_replaces_the_lines_and_no_others(client: type[FakeClient], file: Path) -> None:
    result = run("edit", file, "--lines", "2", "-i", "upper case", "--write")
    assert file.read_text() == "a\nB\nc\n"
    assert result.stderr == f"{SUMMARY}wrote {file}\n"


def test_write_refuses_a_file_that_changed_meanwhile_and_shows_the_diff(
    client: type[FakeClient], file: Path
) -> None:
    client.events = [lambda: file.write_text("mine\n"), EDIT]
    result = run("edit", file, "--lines", "2", "-i", "upper case", "--write")
    assert (result.stdout, result.exit_code) == (EDIT.diff, 4)
    assert file.read_text() == "mine\n"


def test_an_answer_that_cannot_be_written_is_in_the_json_of_the_fault(
    client: type[FakeClient], file: Path
) -> None:
    client.events = [lambda: file.write_text("mine\n"), EDIT]
    result = run("edit", file, "--lines", "2", "-i", "upper case", "--write", "--json")
    shown = json.loads(result.stdout)
    assert shown["error"]["code"] == "file-changed"
    assert (shown["text"], shown["diff"], result.exit_code) == (EDIT.text, EDIT.diff, 4)


def test_an_edit_without_change_says_so_and_writes_nothing(
    client: type[FakeClient], file: Path
) -> None:
    client.events = [EditResult(text="b\n", diff="", spans=[], stats=STATS, answer="")]
    before = file.stat()
    result = run("edit", file, "--lines", "2", "-i", "upper case", "--write")
    assert (result.stdout, result.exit_code) == ("", 0)
    assert result.stderr == f"no change: the model left the lines as they are\n{SUMMARY}"
    assert file.stat().st_mtime_ns == before.st_mtime_ns


def test_edit_json_is_one_object(client: type[FakeClient], file: Path) -> None:
    result = run("edit", file, "--lines", "2", "-i", "upper case", "--json")
    shown = json.loads(result.stdout)
    assert shown.keys() == {"text", "diff", "stats", "spans"}
    assert (shown["text"], shown["diff"]) == (EDIT.text, EDIT.diff)
    assert shown["stats"]["accepted"] == {"region": 80}
    assert shown["spans"] == [{"start": 0, "end": 2, "corpus": "", "path": ""}]


def test_progress_is_plain_lines_where_there_is_no_terminal(
    client: type[FakeClient], file: Path
) -> None:
    client.events = [
        protocol.Queued(ahead=1),
        protocol.Loading(model="m", share=0.0),
        protocol.Loading(model="m", share=0.5),
        Prefill(done=0, total=1200, reused=200),
        Prefill(done=512, total=1200, reused=200),
        Notice(message="the card is not used"),
        Delta(text="B", spans=[], tokens=1),
        EDIT,
    ]
    assert run("edit", file, "-i", "x").stderr == (
        "queued: 1 request ahead\n"
        "loading m: 0%\n"
        "reading the prompt: 0 of 1,200 tokens, 200 kept from before\n"
        "the card is not used\n" + SUMMARY
    )


def test_ctrl_c_closes_the_stream_and_leaves_the_file(client: type[FakeClient], file: Path) -> None:
    client.events = [lambda: os.kill(os.getpid(), signal.SIGINT), EDIT]
    result = run("edit", file, "--lines", "2", "-i", "upper case", "--write")
    assert result.exit_code == 130
    assert (result.stdout, result.stderr) == ("", "copydraft: cancelled; no file was changed\n")
    assert file.read_text() == "a\nb\nc\n"
    assert client.closed == 1


def test_explain_writes_the_answer_as_it_comes(client: type[FakeClient], file: Path) -> None:
    client.events = [
        Delta(text="It is ", spans=[], tokens=2),
        Delta(text="**b**.", spans=[], tokens=4),
        EXPLANATION,
    ]
    result = run("explain", file, "--lines", "2", "-q", "what is it?")
    assert (result.stdout, result.stderr) == ("It is **b**.\n", SUMMARY)
    assert isinstance(client.requests[0], ExplainRequest)
    assert client.requests[0].question == "what is it?"


def test_explain_asks_in_the_repository_of_the_file(client: type[FakeClient], file: Path) -> None:
    (file.parent / ".git").mkdir()
    client.events = [EXPLANATION]
    run("explain", file)
    assert client.requests[0].generation.workspace == str(file.parent)


def test_explain_json_is_one_object(client: type[FakeClient], file: Path) -> None:
    client.events = [Delta(text="It is **b**.", spans=[], tokens=4), EXPLANATION]
    shown = json.loads(run("explain", file, "--json").stdout)
    assert shown.keys() == {"text", "diff", "stats", "spans"}
    assert shown["text"] == "It is **b**."
