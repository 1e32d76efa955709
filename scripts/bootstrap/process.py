"""Runs a tool to its end: all output into a log, its progress onto the terminal."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING

from .errors import SetupError
from .progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

Counter = Callable[[str], tuple[int, int] | None]
"""Reads a line of output: parts done and parts in all, where the line tells."""

_FAULT = re.compile(r"error\b|no space left|killed|not found|could not", re.IGNORECASE)
# Compilers' command lines name flags for errors, cmake looks for much that it can do without, and
# pip's own lines say only that there was an error.
_NO_FAULT = re.compile(
    r"\[|-- |note:|.*(finished with status|-failed$|-with-error$|Failed (to )?build)"
)
_SHOWN_FAULTS = 6
_PATIENCE = 50  # tenths of a second


def run(
    command: Sequence[str | Path],
    *,
    title: str,
    log: Path,
    count: Counter = lambda _: None,
    environ: Mapping[str, str] | None = None,
    hint: str = "",
) -> None:
    """Run `command`; it ends with us, whatever ends us.

    Raises:
        SetupError: it failed; the message has the lines that say why, and where the log is.
    """
    progress = Progress(title)
    try:
        status = _run_logged(command, log, progress, count, environ)
    except BaseException:
        progress.end("interrupted")
        raise
    if status:
        progress.end("failed")
        raise SetupError(
            "\n  ".join([f"{title} failed; the last errors were", *_faults(log)]),
            f"{hint}{' ' if hint else ''}The whole log is {log}",
        )
    progress.end("done")


def _run_logged(
    command: Sequence[str | Path],
    log: Path,
    progress: Progress,
    count: Counter,
    environ: Mapping[str, str] | None,
) -> int:
    done, total = 0, 0
    # A session of its own, so that the compilers below it can be ended all together.
    with (
        log.open("wb") as file,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environ,
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in _lines(process.stdout):
                file.write(line)
                done, total = count(line.decode(errors="replace")) or (done, total)
                progress.show(done, total)
            return process.wait()
        finally:
            if process.poll() is None:
                _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a tool and whatever it started.

    Ninja's compilers are in groups of their own, and it ends them when it is asked to end itself.
    """
    os.killpg(process.pid, signal.SIGTERM)
    for _ in range(_PATIENCE):
        process.poll()
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)


def _lines(pipe: IO[bytes]) -> Iterator[bytes]:
    """Output line by line, and an empty line whenever there is none for half a second."""
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if not selector.select(timeout=0.5):
                yield b""
                continue
            chunk = os.read(pipe.fileno(), 65536)
            if not chunk:
                yield rest
                return
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line + b"\n"


def _faults(log: Path) -> list[str]:
    """The last lines that look like errors, or else the last lines."""
    lines = [line.strip()[:200] for line in log.read_text("utf-8", "replace").splitlines()]
    said = [line for line in lines if line and not _NO_FAULT.match(line)]
    faults = [line for line in said if _FAULT.search(line)]
    return (faults or said)[-_SHOWN_FAULTS:]
