"""The daemon, the settings and this machine, as commands of the terminal show and steer them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click
import msgspec

from copydraft import config, launch, paths, terminal, terminal_reports, terminal_status
from copydraft.api import lifecycle
from copydraft.client import Client
from copydraft.errors import BadRequest, DaemonUnavailable, DiskProblem
from copydraft.printable import printable

T = TypeVar("T")

_FOLLOW_S = 0.3


def ask(call: Callable[[Client], Awaitable[T]], *, start: bool) -> T:
    """The daemon's answer to one short question.

    Raises:
        DaemonUnavailable: it is not running, and `start` is false; or it does not answer.
    """

    async def ask_daemon() -> T:
        async with await Client.connect(start=start) as client:
            return await call(client)

    return asyncio.run(ask_daemon())


# --- the daemon -----------------------------------------------------------------------------


def start(*, as_json: bool) -> None:
    status = ask(lambda client: client.status(), start=True)
    told = f"the daemon is running: process {status.pid}, version {status.version}"
    click.echo(msgspec.json.encode(status) if as_json else told)


def stop(*, as_json: bool) -> None:
    stopped = _stop()
    told = "the daemon has stopped" if stopped else "the daemon was not running"
    click.echo(msgspec.json.encode({"stopped": stopped}) if as_json else told)


def restart(*, as_json: bool) -> None:
    """Stop and start; with `as_json`, only the new daemon's status is printed."""
    if as_json:
        _stop()
    else:
        stop(as_json=False)
    start(as_json=as_json)


def _stop() -> bool:
    """Whether there was a daemon, which is gone now."""
    if not _is_running():
        return False
    # One that is stopping already answers no more.
    with contextlib.suppress(DaemonUnavailable):
        ask(lambda client: client.stop(), start=False)
    asyncio.run(launch.gone())
    return True


def unload(*, as_json: bool) -> None:
    freed = _is_running() and ask(lambda client: client.unload(), start=False)
    told = "the model's memory is free" if freed else "no model was loaded"
    click.echo(msgspec.json.encode({"unloaded": freed}) if as_json else told)


def _is_running() -> bool:
    return lifecycle.is_held(paths.lock_path())


def status(*, as_json: bool) -> None:
    found = ask(lambda client: client.status(), start=False)
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    click.echo(printable("\n".join(terminal_status.status_lines(found))))


def logs(count: int, *, follow: bool, as_json: bool) -> None:
    """Print the last `count` lines of the log and, with `follow`, what is added until Ctrl-C.

    Raises:
        BadRequest: `follow` and `as_json`.
        DiskProblem: the log cannot be read.
    """
    if follow and as_json:
        raise BadRequest("--follow never ends, a JSON object does", "leave one of them out")
    path = paths.log_file()
    lines: deque[str] = deque()
    position = 0
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            lines = deque(file, count)
            position = file.tell()
    except FileNotFoundError:
        click.echo(f"there is no log yet; it will be {path}", err=True)
    except OSError as error:
        raise DiskProblem(f"cannot read {path}: {error.strerror}") from error
    if as_json:
        shown = [line.removesuffix("\n") for line in lines]
        click.echo(msgspec.json.encode({"path": str(path), "lines": shown}))
        return
    click.echo("".join(lines), nl=False)
    while follow:
        time.sleep(_FOLLOW_S)
        position = _print_new(path, position)


def _print_new(path: Path, position: int) -> int:
    """Print the log from `position` on, or from its start if a new file was begun; its end."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            if position <= os.fstat(file.fileno()).st_size:
                file.seek(position)
            click.echo(file.read(), nl=False)
            return file.tell()
    except FileNotFoundError:
        return 0


# --- statistics -----------------------------------------------------------------------------


def stats(days: int | None, *, as_json: bool) -> None:
    report = ask(lambda client: client.stats(days), start=True)
    if as_json:
        click.echo(msgspec.json.encode(report))
        return
    terminal_reports.print_stats(report, terminal.stdout())


def web_stats(*, as_json: bool) -> None:
    """Let the daemon serve the statistics page; print its address, open it where there is a screen.

    Raises:
        NetworkProblem: the daemon cannot listen on the loopback device.
    """
    address = ask(lambda client: client.open_web(), start=True)
    if as_json:
        click.echo(msgspec.json.encode(address))
        return
    click.echo(address.url)
    click.echo(
        f"  → open it within {terminal_status.duration(address.expires_s)}; it can be opened once",
        err=True,
    )
    # Elsewhere the system may have a browser for terminals, which would take this one over.
    if sys.stdout.isatty() and ({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()):
        click.launch(address.url)


def clear_stats(*, as_json: bool) -> None:
    ask(lambda client: client.clear_stats(), start=True)
    told = "the statistics are erased"
    click.echo(msgspec.json.encode({"cleared": True}) if as_json else told)


# --- settings and this machine --------------------------------------------------------------


def show_settings(*, as_json: bool) -> None:
    settings, sources = config.load(), config.sources()
    file = paths.config_file()
    if as_json:
        shown = {
            key: {"value": getattr(settings, key), "from": source}
            for key, source in sources.items()
        }
        click.echo(msgspec.json.encode({"file": str(file), "settings": shown}))
        return
    click.echo(f"{file}{'' if file.exists() else ' (not there)'}")
    terminal_reports.print_settings(settings, sources, terminal.stdout())


def examine(*, as_json: bool) -> int:
    """The doctor's findings; the exit status: 1 if there is a problem."""
    from copydraft.doctor import examination  # noqa: PLC0415 (gguf takes 0.2 s to import)

    findings = examination.examine()
    if as_json:
        click.echo(msgspec.json.encode({"findings": findings}))
    else:
        terminal_reports.print_findings(findings, terminal.stdout())
    return int(any(finding.state == "problem" for finding in findings))
