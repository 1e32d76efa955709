"""Models in the terminal: the list, and downloads with a progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bars

from copydraft import config, devices, terminal
from copydraft.defaults import context_for
from copydraft.errors import Cancelled
from copydraft.models import catalog, library
from copydraft.models.transfer import Progress
from copydraft.terminal_reports import table
from copydraft.terminal_status import amount

Report = Callable[[Progress], None]

_PLAIN_STEPS = 10
"""Lines that a download prints where there is no terminal."""

_JSON_EVERY_S = 0.25


def ready(model: str) -> str:
    """The name of `model` for a request, once the model is here: downloaded now if it is not.

    "" is the default for this machine. A path becomes absolute: the daemon is in another directory.

    Raises:
        ModelProblem: there is no such model.
        CopydraftError: what `pull` raises.
    """
    name = model or catalog.default_model(
        devices.usable_card_memory(gpu_layers=config.load().gpu_layers)
    )
    entry = catalog.MODELS.get(name.lower())
    if entry is None:
        return str(library.resolve(name))
    if not library.path_of(entry).is_file():
        pull(entry.name)
    return entry.name


def pull(name: str, *, json_progress: bool = False) -> Path:
    """The file of a model, downloaded with progress on stderr if it is not here.

    With `json_progress` that is an object a line: stage, source, done, total (bytes), for programs.

    Raises:
        ModelProblem: the name is unknown.
        NetworkProblem: no source could give the file.
        DiskProblem: there is no room for it.
        Cancelled: on Ctrl-C; what has come stays for the next time.
    """
    # The hub's client takes a while to import, and most models are here already.
    from copydraft.models import pull as pulling  # noqa: PLC0415

    entry = catalog.find(name)
    console = terminal.stderr()
    try:
        if json_progress:
            return pulling.pull(entry, _json_report())
        if not terminal.redraws(console):
            return pulling.pull(entry, _plain_report(entry, console))
        with _bars(console) as bars:
            return pulling.pull(entry, _bar_report(entry, bars))
    except KeyboardInterrupt:
        raise Cancelled(
            f"the download of {entry.name} was stopped", "start it again: it goes on from here"
        ) from None


def _bars(console: Console) -> Bars:
    return Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


def _bar_report(entry: catalog.Entry, bars: Bars) -> Report:
    task = bars.add_task(entry.name, total=entry.size)
    stage = ""

    def report(progress: Progress) -> None:
        nonlocal stage
        if (now := _stage(entry, progress)) != stage:
            stage = now
            # Above the bar: beside it, there is no room for the numbers in eighty columns.
            terminal.say(bars.console, stage)
            # Bytes that an earlier pull left must not count as speed.
            bars.reset(task, total=progress.total, completed=progress.done)
        bars.update(task, total=progress.total, completed=progress.done)

    return report


def _plain_report(entry: catalog.Entry, console: Console) -> Report:
    stage, step = "", -1

    def report(progress: Progress) -> None:
        nonlocal stage, step
        now = _stage(entry, progress), _PLAIN_STEPS * progress.done // max(1, progress.total)
        if now != (stage, step):
            stage, step = now
            terminal.say(console, f"{stage}: {amount(progress.done)} of {amount(progress.total)}")

    return report


def _json_report() -> Report:
    stage, told = "", 0.0

    def report(progress: Progress) -> None:
        nonlocal stage, told
        now = time.monotonic()
        ends = progress.done >= progress.total
        if progress.stage != stage or ends or now - told >= _JSON_EVERY_S:
            stage, told = progress.stage, now
            click.echo(msgspec.json.encode(progress), err=True)

    return report


def _stage(entry: catalog.Entry, progress: Progress) -> str:
    match progress.stage:
        case "waiting":
            return f"waiting for {progress.source}"
        case "checking":
            return f"checking what is here of {entry.name}"
        case "downloading":
            return f"downloading {entry.name} from {progress.source}"


# --- the list -------------------------------------------------------------------------------


class Row(msgspec.Struct, frozen=True):
    """A model as `copydraft model list` shows it; sizes in bytes."""

    name: str
    description: str
    parameters: str
    license: str
    size: int
    memory: int
    """What it takes to run, about."""
    fits: bool
    """Whether this machine has that much, other programs aside."""
    active: bool
    """Used where a request names none."""
    path: str | None
    """Its file; None: not downloaded."""
    partial_bytes: int
    """What an unfinished download left."""


def show_all(*, as_json: bool) -> None:
    """Print the catalog, and which of it is here, fits and is used."""
    found = rows()
    if as_json:
        click.echo(msgspec.json.encode({"models": found}))
        return
    shown = table("", "model", ">file", ">memory", "here", "fits")
    shown.add_column()
    for row in found:
        here = "yes" if row.path else f"{amount(row.partial_bytes)}" if row.partial_bytes else ""
        shown.add_row(
            "*" if row.active else "",
            row.name,
            amount(row.size),
            amount(row.memory),
            here,
            "yes" if row.fits else "no",
            row.description,
            style="bold" if row.active else "" if row.path else "dim",
        )
    console = terminal.stdout()
    console.print(shown)
    console.print("* is used where a request names none; `copydraft model use` changes it")


def rows() -> list[Row]:
    """The models of the catalog."""
    settings = config.load()
    card = devices.usable_card_memory(gpu_layers=settings.gpu_layers)
    active = settings.model or catalog.default_model(card)
    room = devices.total_memory() if card is None else card
    context = context_for(settings, on_card=card is not None)
    return [
        Row(
            name=entry.name,
            description=entry.description,
            parameters=entry.parameters,
            license=entry.license,
            size=entry.size,
            memory=entry.memory(context),
            fits=entry.memory(context) <= room,
            active=entry.name == active.lower(),
            path=str(path) if path else None,
            partial_bytes=partial,
        )
        for entry, path, partial in (
            (listed.entry, listed.path, listed.partial_bytes) for listed in library.listed()
        )
    ]
