"""Tools are run with their progress shown, their output kept and their errors explained."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from bootstrap import progress
from bootstrap.errors import SetupError
from bootstrap.process import run
from bootstrap.progress import Progress


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_all_output_of_a_tool_is_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run(python("import os; os.write(1, b'out\\n'); os.write(2, b'err')"), title="it", log=log)
    assert log.read_text() == "out\nerr"


def test_a_failure_shows_the_lines_with_errors_and_names_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = r"""
print("[7/83] /usr/bin/g++ -Werror=vla -c a.cpp")
print("a.cpp:1:10: fatal error: omp.h: No such file or directory")
print("[8/83] /usr/bin/g++ -c b.cpp")
print("  error: subprocess-exited-with-error")
print("  note: This error originates from a subprocess")
raise SystemExit(3)
"""
    with pytest.raises(SetupError) as failed:
        run(python(code), title="building", log=log, hint="Do this.")
    assert failed.value.message == (
        "building failed; the last errors were\n"
        "  a.cpp:1:10: fatal error: omp.h: No such file or directory"
    )
    assert failed.value.hint == f"Do this. The whole log is {log}"


def test_a_failure_without_the_word_error_shows_the_last_lines(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"last errors were\n  one\n  two$"):
        run(
            python("print('one'); print('two'); raise SystemExit(1)"),
            title="it",
            log=tmp_path / "l",
        )


def test_a_tool_is_ended_with_its_children_when_the_user_interrupts(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = f"""
import os, pathlib, subprocess
child = subprocess.Popen(["sleep", "60"])
pathlib.Path({str(pids)!r}).write_text(f"{{os.getpid()}} {{child.pid}}")
print("started", flush=True)
child.wait()
"""

    def interrupt(line: str) -> None:
        if line.startswith("started"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(python(code), title="it", log=tmp_path / "log", count=interrupt)
    for pid in pids.read_text().split():
        assert not _is_running(int(pid))


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # ended; whoever adopted it has not asked yet


def test_a_step_that_is_no_terminal_prints_a_line_a_tenth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(0, 6000, 6))
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    stream = io.StringIO()
    shown = Progress("building", stream)
    for done in range(41):
        shown.show(done, 40)
    shown.end("done")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "building …"
    assert [line.split(",")[0] for line in lines[1:-1]] == [f"  {n}0 %" for n in range(1, 11)]
    assert lines[-1].startswith("building: done, ")


def test_a_terminal_gets_one_line_that_is_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "monotonic", lambda: 0.0)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    shown = Progress("building", stream)
    shown.show(0, 0)
    shown.show(21, 83)
    shown.end("done")
    assert stream.getvalue().split("\r\x1b[2K")[1:] == [
        "building         0:00",
        "building   25 %  0:00",
        "building: done, 0:00\n",
    ]
