"""The command, the daemon that it starts and a real engine, as a user meets them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from copydraft.api import lifecycle

COMMAND = (sys.executable, "-P", "-m", "copydraft")
TEXT = "a = 1\r\nb = 1\r\nprint(a + b)"
ANSWER = "\na = 1\nb = 2\nprint(a + b)\n```"


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sum.py"
    path.write_bytes(TEXT.encode())
    return path


@pytest.fixture
def model(answering_model: Callable[..., Path]) -> str:
    """A model that answers every edit of a Python file with ANSWER."""
    return str(answering_model(ANSWER, after="```python"))


@pytest.fixture
def slow_model(real_model: Callable[[str], Path]) -> str:
    """A real model, which takes seconds to explain something."""
    return str(real_model("smollm2-135m"))


def wait_for_text(process: subprocess.Popen[str]) -> None:
    """Until an explanation appears on stdout."""
    assert process.stdout is not None
    assert process.stdout.read(1)


def test_an_edit_is_one_json_object(file: Path, model: str) -> None:
    done = run("edit", str(file), "--lines", "2", "-i", "set b", "--model", model, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result.keys() == {"text", "diff", "stats", "spans"}
    assert result["stats"]["accepted"] != {}
    assert file.read_bytes() == TEXT.encode()


def test_a_written_edit_changes_nothing_but_what_it_changes(file: Path, model: str) -> None:
    done = run("edit", str(file), "--lines", "1:3", "-i", "set b", "--model", model, "--write")
    assert done.returncode == 0, done.stderr
    assert file.read_bytes() == b"a = 1\r\nb = 2\r\nprint(a + b)"


def test_the_answer_is_the_same_without_drafts(file: Path, model: str) -> None:
    asked = ("edit", str(file), "-i", "set b", "--model", model, "--json")
    drafted, plain = json.loads(run(*asked).stdout), json.loads(run(*asked, "--no-draft").stdout)
    assert drafted["text"] == plain["text"]
    assert plain["stats"]["drafted"] == {}


def test_statistics_and_status_tell_of_the_edit(file: Path, model: str) -> None:
    run("edit", str(file), "-i", "set b", "--model", model)
    status = json.loads(run("status", "--json").stdout)
    assert status["model"]["path"] == model
    assert status["requests"] == 1
    stats = json.loads(run("stats", "--json").stdout)
    assert stats["total"]["requests"] == 1


def test_two_terminals_at_once_both_finish(file: Path, model: str) -> None:
    asked = ("edit", str(file), "-i", "set b", "--model", model, "--json")
    first, second = start(*asked), start(*asked)
    texts = [json.loads(process.communicate()[0])["text"] for process in (first, second)]
    assert texts == ["a = 1\r\nb = 2\r\nprint(a + b)"] * 2


@pytest.mark.model
def test_a_daemon_killed_in_mid_stream_is_told_and_the_next_command_works(
    file: Path, slow_model: str
) -> None:
    asked = ("explain", str(file), "-q", "explain every line at length", "--model", slow_model)
    process = start(*asked)
    wait_for_text(process)
    holder = lifecycle.holder()
    assert holder is not None
    os.kill(holder.pid, signal.SIGKILL)
    _, errors = process.communicate()
    assert process.returncode == 9
    assert "the daemon went away while it wrote the answer" in errors
    assert run(*asked).returncode == 0


@pytest.mark.model
def test_ctrl_c_cancels_and_the_daemon_is_idle_at_once(file: Path, slow_model: str) -> None:
    asked = ("explain", str(file), "-q", "explain every line at length", "--model", slow_model)
    process = start(*asked)
    wait_for_text(process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert "cancelled" in errors
    while json.loads(run("status", "--json").stdout)["active"]:
        time.sleep(0.05)
