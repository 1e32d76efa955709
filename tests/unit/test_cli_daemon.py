"""The daemon, statistics and settings on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import msgspec
import pytest

from copydraft import paths, protocol
from copydraft.errors import DaemonUnavailable
from copydraft.protocol import (
    StatsReport,
)
from tests.fixtures.fake_client import (
    DAY,
    STATUS,
    TOTAL,
    USAGE,
    FakeClient,
    run,
)

ROOT = Path(__file__).parents[2]


# --- the daemon -------------------------------------------------------------------------------


def test_status_is_a_few_plain_lines(client: type[FakeClient]) -> None:
    assert run("status").stdout == (
        "daemon    copydraft 0.1.0, process 4242, up 1 h 2 min, 90 MB resident\n"
        "socket    /run/user/1000/copydraft/daemon.sock, 1 connected\n"
        "model     none loaded\n"
        "requests  0 running, 0 waiting, 0 ended\n"
        "idle      model unloaded after 15 min, exit never\n"
    )
    assert run("daemon", "status").stdout == run("status").stdout


def test_status_tells_what_of_each_workspace_is_indexed(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspaces = [
        protocol.WorkspaceStatus(
            root="/src/one",
            open_documents=2,
            workspace_tokens=524_293,
            global_tokens=33_944_398,
            indexing=True,
        ),
        protocol.WorkspaceStatus(
            root="/src/two",
            open_documents=0,
            workspace_tokens=0,
            global_tokens=0,
            indexing=False,
        ),
    ]
    status = msgspec.structs.replace(STATUS, workspaces=workspaces)
    monkeypatch.setattr(client, "status", AsyncMock(return_value=status))
    lines = run("status").stdout.splitlines()
    assert lines[3:5] == [
        "workspace  /src/one: 2 open, 524,293 tokens indexed, 33,944,398 of libraries, indexing",
        "workspace  /src/two: 0 open, 0 tokens indexed, 0 of libraries",
    ]
    assert lines[0].startswith("daemon     copydraft ")


@pytest.mark.parametrize(
    ("api", "shown"),
    [
        (protocol.ApiStatus(url="http://127.0.0.1:8137/v1"), "http://127.0.0.1:8137/v1"),
        (protocol.ApiStatus(problem="port 8137 is taken"), "port 8137 is taken"),
    ],
)
def test_status_tells_where_agents_are_served_or_why_not(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch, api: protocol.ApiStatus, shown: str
) -> None:
    status = msgspec.structs.replace(STATUS, api=api)
    monkeypatch.setattr(client, "status", AsyncMock(return_value=status))
    assert run("status").stdout.splitlines()[2] == f"agents    {shown}"


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
        completes=False,
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


def test_what_steers_the_daemon_tells_it_as_json_too(client: type[FakeClient]) -> None:
    assert json.loads(run("daemon", "start", "--json").stdout)["pid"] == 4242
    assert json.loads(run("daemon", "restart", "--json").stdout)["pid"] == 4242
    assert json.loads(run("daemon", "stop", "--json").stdout) == {"stopped": False}
    assert json.loads(run("daemon", "unload", "--json").stdout) == {"unloaded": False}
    assert json.loads(run("stats", "clear", "--json").stdout) == {"cleared": True}


def test_logs_prints_the_last_lines() -> None:
    paths.make_dir(paths.state_dir())
    paths.log_file().write_text("one\ntwo\nthree\n")
    assert run("daemon", "logs", "-n", "2").stdout == "two\nthree\n"
    shown = json.loads(run("daemon", "logs", "-n", "2", "--json").stdout)
    assert shown == {"path": str(paths.log_file()), "lines": ["two", "three"]}


def test_logs_without_end_are_no_json_object() -> None:
    result = run("daemon", "logs", "--follow", "--json")
    assert result.stderr.startswith("copydraft: --follow never ends, a JSON object does\n")
    assert result.exit_code == 2


def test_logs_says_where_a_log_will_be() -> None:
    result = run("daemon", "logs")
    assert (result.stdout, result.exit_code) == ("", 0)
    assert result.stderr == f"there is no log yet; it will be {paths.log_file()}\n"
    assert json.loads(run("daemon", "logs", "--json").stdout)["lines"] == []


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
    assert ["edit", "region", "90", "45", "50%", "45%"] in rows
    assert "2026-11-29  " + "█" * 32 + "░" * 8 + " 100\n" in shown


def test_stats_shows_acceptance_by_kind_and_corpus_the_nearest_first(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    edit = msgspec.structs.replace(
        USAGE, drafted={"global": 10, "region": 90}, accepted={"region": 45}
    )
    explain = msgspec.structs.replace(
        USAGE, name="explain", drafted={"workspace": 40}, accepted={"workspace": 10}
    )
    report = StatsReport(
        days=None, total=TOTAL, by_kind=[edit, explain], by_model=[USAGE], by_day=[DAY]
    )
    monkeypatch.setattr(client, "stats", AsyncMock(return_value=report))
    rows = [line.split() for line in run("stats").stdout.splitlines()]
    first = rows.index(["drafts", "of", "from", "drafted", "accepted", "share", "of", "text"])
    assert rows[first + 1 : first + 6] == [
        ["edit", "region", "90", "45", "50%", "45%"],
        ["global", "10", "0", "0%", "0%"],
        ["all", "100", "45", "45%", "45%"],
        ["explain", "workspace", "40", "10", "25%", "10%"],
        ["total", "region", "90", "45", "50%", "45%"],
    ]


def test_stats_json_has_the_drafts_by_corpus_within_each_kind(client: type[FakeClient]) -> None:
    [edit] = json.loads(run("stats", "--json").stdout)["by_kind"]
    assert (edit["name"], edit["drafted"], edit["accepted"]) == (
        "edit",
        {"region": 90},
        {"region": 45},
    )


def test_stats_shows_names_with_brackets_as_they_are(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = msgspec.structs.replace(USAGE, name="[bold]m[/x]")
    report = StatsReport(days=None, total=TOTAL, by_kind=[], by_model=[usage], by_day=[DAY])
    monkeypatch.setattr(client, "stats", AsyncMock(return_value=report))
    assert "\n[bold]m[/x] " in run("stats").stdout


def test_stats_web_prints_the_address_of_the_page(client: type[FakeClient]) -> None:
    result = run("stats", "--web")
    assert result.stdout == "http://127.0.0.1:4711/?token=t\n"
    assert result.stderr == "  → open it within 5 min; it can be opened once\n"


def test_stats_web_json_opens_no_browser(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("click.launch", pytest.fail)
    shown = json.loads(run("stats", "--web", "--json").stdout)
    assert shown == {"url": "http://127.0.0.1:4711/?token=t", "expires_s": 300.0}


def test_stats_clear_says_so(client: type[FakeClient]) -> None:
    assert run("stats", "clear").stdout == "the statistics are erased\n"


def test_json_may_stand_before_the_command_of_a_group(client: type[FakeClient]) -> None:
    assert json.loads(run("stats", "--json", "clear").stdout) == {"cleared": True}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--days", "3", "--web"], "--days and --web do not go together"),
        (["--days", "3", "clear"], "`clear` takes no --days: it erases all statistics"),
        (["--web", "clear"], "`clear` takes no --web: it erases all statistics"),
    ],
)
def test_options_of_stats_that_would_do_nothing_are_refused(
    client: type[FakeClient], arguments: list[str], message: str
) -> None:
    result = run("stats", *arguments)
    assert result.stderr.startswith(f"copydraft: {message}\n")
    assert (result.stdout, result.exit_code) == ("", 2)


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


def test_config_show_says_whether_there_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPYDRAFT_STRICT", "1")
    first = run("config", "show").stdout.splitlines()[0]
    assert first == f"{paths.config_file()} (not there)"


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
