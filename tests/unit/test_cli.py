"""The command line, with a client that plays back what a daemon would say."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import Any, Self
from unittest.mock import AsyncMock

import click
import msgspec
import pytest
from click.testing import CliRunner, Result

from copydraft import ask, cli, control, paths, protocol, terminal_models
from copydraft.errors import DaemonUnavailable, ModelProblem, OutOfMemory
from copydraft.protocol import (
    Delta,
    EditRequest,
    EditResult,
    Event,
    ExplainRequest,
    ExplainResult,
    Notice,
    Prefill,
    RequestStats,
    Span,
    StatsReport,
    Status,
    Usage,
)

ROOT = Path(__file__).parents[2]

STATS = RequestStats(
    kind="edit",
    agent="",
    model="qwen2.5-coder-0.5b",
    device="CPU",
    draft=True,
    strict=False,
    prompt_tokens=1200,
    reused_tokens=200,
    output_tokens=100,
    copied_tokens=80,
    passes=30,
    drafted={"region": 90},
    accepted={"region": 80},
    draft_us=12.0,
    verify=[],
    first_token_ms=500.0,
    decode_ms=2000.0,
    tokens_per_s=50.0,
    tokens_per_s_copied=90.0,
    tokens_per_s_novel=20.0,
    stop_reason="format",
    read_write_ratio=12.0,
    redecoded=0,
    smallest_margin=0.1,
)
EDIT = EditResult(
    text="B\n",
    diff="--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
    spans=[Span(start=0, end=2)],
    stats=STATS,
    answer="```\nB\n```",
)
EXPLANATION = ExplainResult(text="It is **b**.", spans=[Span(start=0, end=12)], stats=STATS)
SUMMARY = "100 tokens in 2.0 s: 50.0 tokens/s, 80% copied, 30 passes; prompt read in 0.5 s; CPU\n"
USAGE = Usage(
    name="edit",
    requests=2,
    prompt_tokens=1200,
    reused_tokens=200,
    output_tokens=100,
    copied_tokens=80,
    copied_share=0.8,
    passes=30,
    drafted={"region": 90},
    accepted={"region": 45},
    decode_ms=2000.0,
    tokens_per_s=50.0,
)
TOTAL = msgspec.structs.replace(USAGE, name="")
DAY = msgspec.structs.replace(USAGE, name="2026-11-29")
STATUS = Status(
    version="0.1.0",
    protocol=1,
    pid=4242,
    uptime_s=3725.0,
    socket="/run/user/1000/copydraft/daemon.sock",
    model=None,
    resident_bytes=90_000_000,
    active=0,
    waiting=0,
    clients=1,
    requests=0,
    tokens_per_s=0.0,
    acceptance=0.0,
    idle_unload_s=900.0,
    idle_exit_s=None,
)


class FakeClient:
    """Plays `events`; an exception among them is raised, a function is called."""

    events: list[Event | Exception | Callable[[], object]]
    requests: list[EditRequest | ExplainRequest]
    closed: int

    @classmethod
    async def connect(
        cls, *, start: bool = True, notice: Callable[[str], None] = lambda _: None
    ) -> Self:
        return cls()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def edit(self, request: EditRequest) -> AsyncGenerator[Event]:
        return self._play(request)

    def explain(self, request: ExplainRequest) -> AsyncGenerator[Event]:
        return self._play(request)

    async def _play(self, request: EditRequest | ExplainRequest) -> AsyncGenerator[Event]:
        self.requests.append(request)
        try:
            for event in self.events:
                if isinstance(event, Exception):
                    raise event
                if callable(event):
                    event()
                    await asyncio.sleep(0.01)
                else:
                    yield event
        finally:
            type(self).closed += 1

    async def status(self) -> Status:
        return STATUS

    async def stats(self, days: int | None = None) -> StatsReport:
        return StatsReport(days=days, total=TOTAL, by_kind=[USAGE], by_model=[USAGE], by_day=[DAY])

    async def clear_stats(self) -> None:
        return None

    async def unload(self) -> bool:
        return True

    async def stop(self) -> None:
        return None


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> type[FakeClient]:
    FakeClient.events, FakeClient.requests, FakeClient.closed = [EDIT], [], 0
    monkeypatch.setattr(ask, "Client", FakeClient)
    monkeypatch.setattr(control, "Client", FakeClient)
    monkeypatch.setattr(terminal_models, "ready", lambda model: model or "default-model")
    return FakeClient


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("a\nb\nc\n")
    return path


def run(*arguments: str | Path, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(cli.cli, [str(argument) for argument in arguments], input=stdin)


def commands(group: click.Group, prefix: str = "copydraft") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield f"{prefix} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")


# --- the whole --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "command"), list(commands(cli.cli)))
def test_every_command_and_option_has_help(name: str, command: click.Command) -> None:
    assert command.help
    for parameter in command.params:
        assert isinstance(parameter, click.Argument) or getattr(parameter, "help", None), name


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


# --- edit -------------------------------------------------------------------------------------


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


# --- faults -----------------------------------------------------------------------------------


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


# --- explain ----------------------------------------------------------------------------------


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


def test_explain_json_is_one_object(client: type[FakeClient], file: Path) -> None:
    client.events = [Delta(text="It is **b**.", spans=[], tokens=4), EXPLANATION]
    shown = json.loads(run("explain", file, "--json").stdout)
    assert shown.keys() == {"text", "diff", "stats", "spans"}
    assert shown["text"] == "It is **b**."


# --- the daemon -------------------------------------------------------------------------------


def test_status_is_a_few_plain_lines(client: type[FakeClient]) -> None:
    assert run("status").stdout == (
        "daemon    copydraft 0.1.0, process 4242, up 1 h 2 min, 90 MB resident\n"
        "socket    /run/user/1000/copydraft/daemon.sock, 1 connected\n"
        "model     none loaded\n"
        "requests  0 running, 0 waiting, 0 ended\n"
        "idle      model unloaded after 15 min, exit after never\n"
    )
    assert run("daemon", "status").stdout == run("status").stdout


def test_the_status_shows_control_characters_of_a_models_name(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = protocol.ModelStatus(
        name="m\x1b[2J",
        path="/m.gguf",
        architecture="qwen2",
        memory_kind="full",
        device="CPU",
        size_bytes=1,
        context=1,
        cost={},
        pass_ms=1.0,
    )
    status = msgspec.structs.replace(STATUS, model=model)
    monkeypatch.setattr(client, "status", AsyncMock(return_value=status))
    assert "m␛[2J (qwen2, " in run("status").stdout


def test_status_json_is_the_protocols(client: type[FakeClient]) -> None:
    assert json.loads(run("status", "--json").stdout)["pid"] == 4242


def test_status_of_no_daemon_says_so() -> None:
    result = run("status")
    assert result.stderr == (
        "copydraft: no daemon is running\n  → `copydraft daemon start` starts one\n"
    )
    assert result.exit_code == DaemonUnavailable.exit_status


def test_stopping_or_unloading_no_daemon_is_no_fault() -> None:
    assert run("daemon", "stop").stdout == "the daemon was not running\n"
    assert run("daemon", "unload").stdout == "no model was loaded\n"


def test_logs_prints_the_last_lines() -> None:
    paths.make_dir(paths.state_dir())
    paths.log_file().write_text("one\ntwo\nthree\n")
    assert run("daemon", "logs", "-n", "2").stdout == "two\nthree\n"


def test_logs_says_where_a_log_will_be() -> None:
    result = run("daemon", "logs")
    assert (result.stdout, result.exit_code) == ("", 0)
    assert result.stderr == f"there is no log yet; it will be {paths.log_file()}\n"


def test_logs_follows_new_lines_and_new_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paths.make_dir(paths.state_dir())
    log = paths.log_file()
    log.write_text("the first\n")

    def add() -> None:
        with log.open("a") as file:
            file.write("the second\n")

    def interrupt() -> None:
        raise KeyboardInterrupt

    steps: Iterator[Callable[[], object]] = iter([add, lambda: log.write_text("new\n"), interrupt])
    monkeypatch.setattr("time.sleep", lambda _: next(steps)())
    result = run("daemon", "logs", "-f")
    assert (result.stdout, result.exit_code) == ("the first\nthe second\nnew\n", 130)


# --- statistics and settings ------------------------------------------------------------------


def test_stats_json_covers_the_days_asked_for(client: type[FakeClient]) -> None:
    assert json.loads(run("stats", "--days", "7", "--json").stdout)["days"] == 7


def test_stats_shows_what_drafting_brought(client: type[FakeClient]) -> None:
    shown = run("stats").stdout
    rows = [line.split() for line in shown.splitlines()]
    assert shown.startswith("Requests since the beginning\n")
    assert ["total", "2", "1,200", "200", "100", "80%", "30", "50.0"] in rows
    assert ["edit", "region", "90", "45", "50%"] in rows
    assert "2026-11-29  " + "█" * 32 + "░" * 8 + " 100\n" in shown


def test_stats_shows_names_with_brackets_as_they_are(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = msgspec.structs.replace(USAGE, name="[bold]m[/x]")
    report = StatsReport(days=None, total=TOTAL, by_kind=[], by_model=[usage], by_day=[DAY])
    monkeypatch.setattr(client, "stats", AsyncMock(return_value=report))
    assert "\n[bold]m[/x] " in run("stats").stdout


def test_stats_clear_says_so(client: type[FakeClient]) -> None:
    assert run("stats", "clear").stdout == "the statistics are erased\n"


def test_config_show_tells_where_each_value_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    paths.make_dir(paths.config_file().parent)
    paths.config_file().write_text("threads = 3\n")
    monkeypatch.setenv("COPYDRAFT_STRICT", "1")
    shown: dict[str, Any] = json.loads(run("config", "show", "--json").stdout)
    assert shown["file"] == str(paths.config_file())
    assert shown["settings"]["threads"] == {"value": 3, "from": "file"}
    assert shown["settings"]["strict"] == {"value": True, "from": "environment"}
    assert shown["settings"]["max_draft"] == {"value": 63, "from": "default"}
    assert ["threads", "3", "file"] in [
        line.split() for line in run("config", "show").stdout.splitlines()
    ]


def test_config_show_says_never_as_the_file_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPYDRAFT_IDLE_EXIT_MINUTES", "inf")
    rows = [line.split() for line in run("config", "show").stdout.splitlines()]
    assert ["idle_exit_minutes", "inf", "environment"] in rows


def test_an_unknown_setting_is_told_with_the_file() -> None:
    paths.make_dir(paths.config_file().parent)
    paths.config_file().write_text("thread = 3\n")
    result = run("config", "show")
    assert result.exit_code == 2
    assert f"the file is {paths.config_file()}" in result.stderr
