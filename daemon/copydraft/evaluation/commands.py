"""The commands that work without a daemon: replay, and the mining of edits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import IO

import click
import msgspec
from rich.console import Console
from rich.progress import Progress, TaskID

from copydraft.errors import BadRequest
from copydraft.evaluation import mine, report, traces
from copydraft.evaluation.curves import curve
from copydraft.evaluation.drafters import DRAFTERS, Entry
from copydraft.evaluation.replay import Curves, replay
from copydraft.evaluation.report import ByKind, Results
from copydraft.evaluation.traces import Trace

_TRACES_PER_DRAWING = 20

_FILE = click.Path(path_type=Path)


@click.command("replay")
@click.argument("file", type=_FILE)
@click.option(
    "--gguf", type=_FILE, help="Model whose tokenizer reads edit tasks; its weights stay on disk."
)
@click.option(
    "--drafters",
    default=",".join(DRAFTERS),
    metavar="A,B",
    help="Drafters by name; without it, all.",
)
@click.option(
    "--cost",
    default="flat,cpu",
    show_default=True,
    metavar="A,B",
    help="What a pass costs: flat (a card), cpu, or measured files.",
)
@click.option(
    "--max-width",
    type=click.IntRange(1, 512),
    default=64,
    show_default=True,
    help="Most tokens in one pass.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def replay_command(
    file: Path, gguf: Path | None, drafters: str, cost: str, max_width: int, as_json: bool
) -> None:
    """Replay recorded traces or edit tasks (FILE.jsonl) through drafters; no model runs."""
    chosen = _chosen(drafters)
    curves = {name: curve(name, max_width) for name in cost.split(",")}
    with Console(stderr=True).status(f"reading {file}"):
        loaded = traces.read(file, gguf)
    results = _replay_all(loaded, chosen, curves)
    if as_json:
        click.echo(json.dumps(report.as_json(loaded, results)))
        return
    console = Console()
    for table in report.tables(results):
        console.print(table)


@click.command("mine-edits")
@click.argument("repository", type=_FILE)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Most edits, the newest first.",
)
@click.option("--out", type=click.File("wb"), default="-", help="File to write instead of stdout.")
def mine_command(repository: Path, limit: int, out: IO[bytes]) -> None:
    """Write single-region edits out of a local git history, one JSON object a line."""
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("reading the history", total=limit)
        for task in mine.edits(repository, limit):
            out.write(msgspec.json.encode(task) + b"\n")
            progress.advance(bar)


def _chosen(names: str) -> dict[str, Entry]:
    unknown = [name for name in names.split(",") if name not in DRAFTERS]
    if unknown:
        raise BadRequest(f"no drafter is named {unknown[0]!r}", f"there are {', '.join(DRAFTERS)}")
    return {name: DRAFTERS[name] for name in names.split(",")}


def _replay_all(loaded: list[Trace], drafters: dict[str, Entry], curves: Curves) -> Results:
    """The results of each drafter over the traces that have what it needs."""
    recorded = [trace for trace in loaded if trace.top8]
    results: dict[str, Mapping[str, ByKind]] = {}
    # A thread that draws the bars would slow the drafters that are timed.
    with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as progress:
        for name, entry in drafters.items():
            given = recorded if entry.needs_top8 else loaded
            if not given:
                click.echo(f"{name} is left out: no trace has the model's top 8", err=True)
                continue
            runs = len(curves) if entry.by_cost else 1
            bar = progress.add_task(name, total=len(given) * runs)
            results[name] = replay(given, entry, curves, partial(_step, progress, bar))
            progress.remove_task(bar)
    return results


def _step(progress: Progress, bar: TaskID) -> None:
    progress.advance(bar)
    if progress.tasks[0].completed % _TRACES_PER_DRAWING == 0:
        progress.refresh()
