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

from copydraft import config as configuration
from copydraft.errors import BadRequest
from copydraft.evaluation import inputs, mine, profiling, record, report, sessions, traces
from copydraft.evaluation.curves import curve
from copydraft.evaluation.drafters import DRAFTERS, Entry, copydraft
from copydraft.evaluation.replay import Curves, replay
from copydraft.evaluation.report import ByKind, Results
from copydraft.json_option import json_option
from copydraft.protocol import Kind
from copydraft.serving import loading
from copydraft.serving.service import NoCosts
from copydraft.traces import Trace

_TRACES_PER_DRAWING = 20

_FILE = click.Path(path_type=Path)

_WORKSPACE = click.option(
    "--workspace",
    is_flag=True,
    help="Draft edit tasks from the other tasks' files, too; sessions have their own workspaces.",
)
_LIBRARIES = click.option(
    "--global",
    "libraries",
    type=_FILE,
    multiple=True,
    help="Directory of a global corpus, for those with a workspace; may be given several times.",
)


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
@click.option("--agent", is_flag=True, help="Edit tasks as a coding agent's calls of its tool.")
@_WORKSPACE
@_LIBRARIES
@click.option("--plot", type=_FILE, help="Draw the speedups, as SVG (needs matplotlib).")
@json_option
def replay_command(
    file: Path,
    gguf: Path | None,
    drafters: str,
    cost: str,
    max_width: int,
    agent: bool,
    workspace: bool,
    libraries: tuple[Path, ...],
    plot: Path | None,
    as_json: bool,
) -> None:
    """Replay traces, edit tasks or sessions (FILE.jsonl) through drafters; no model runs."""
    chosen = _chosen(drafters)
    curves = {name: curve(name, max_width) for name in cost.split(",")}
    with Console(stderr=True).status(f"reading {file}"):
        loaded, search_of = inputs.load(
            [file], gguf, workspace=workspace, libraries=libraries, agent=agent
        )
    if "copydraft" in chosen:
        chosen["copydraft"] = Entry(partial(copydraft, search_of=search_of), by_cost=True)
    results = _replay_all(loaded, chosen, curves)
    if plot is not None:
        # Heavy, and a tool of development: users do not have it.
        from copydraft.evaluation.plots import draw_replay  # noqa: PLC0415

        draw_replay(report.as_json(loaded, results), plot)
    if as_json:
        click.echo(json.dumps(report.as_json(loaded, results)))
        return
    console = Console()
    for table in report.tables(results):
        console.print(table)


@click.command("record")
@click.argument("tasks", type=_FILE)
@click.option("--model", default="", help="Name or path of a GGUF; without it, the configured one.")
@click.option("--kind", type=click.Choice(record.KINDS), default="edit", show_default=True)
@click.option("--limit", type=click.IntRange(1), default=60, show_default=True)
@click.option("--out", type=_FILE, default=Path("traces.jsonl"), show_default=True)
def record_command(tasks: Path, model: str, kind: Kind, limit: int, out: Path) -> None:
    """Let a model answer edit tasks (TASKS.jsonl, the repositories in turn), and write traces.

    An interrupted run goes on where it stopped.
    """
    chosen = traces.spread(traces.read_tasks(tasks), limit)
    config = configuration.load()
    loaded = loading.load(
        loading.wanted(model, config), config, NoCosts(), lambda _: True, click.echo
    )
    try:
        record.record(
            loaded,
            config,
            chosen,
            kind,
            out,
            lambda number, what: click.echo(f"{number} of {len(chosen)}: {what}", err=True),
        )
    finally:
        loaded.engine.close()


@click.command("learn")
@click.argument("files", type=_FILE, nargs=-1, required=True)
@click.option("--gguf", type=_FILE, help="Model whose tokenizer reads edit tasks.")
@_WORKSPACE
@_LIBRARIES
@click.option("--out", type=click.File("wb"), default="-", help="File to write instead of stdout.")
@click.option(
    "--leave-one-out",
    is_flag=True,
    help="Tell instead what each repository gains by profiles of the others.",
)
def learn_command(
    files: tuple[Path, ...],
    gguf: Path | None,
    workspace: bool,
    libraries: tuple[Path, ...],
    out: IO[bytes],
    leave_one_out: bool,
) -> None:
    """Learn profiles from FILES of traces, tasks, sessions: what drafting/profiles.json ships.

    `copydraft profile` does it for the repository of a user.
    """
    loaded, search_of = inputs.load(files, gguf, workspace=workspace, libraries=libraries)
    curves = {name: curve(name, 64) for name in ("flat", "cpu")}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        total = len(loaded) * profiling.rounds(curves)
        if leave_one_out:
            repos = len({trace.repo for trace in loaded})
            bar = progress.add_task("learning", total=(repos - 1) * total + 2 * len(loaded))
            step = partial(progress.advance, bar)
            tallies = profiling.leave_one_out(loaded, curves, step, search_of)
            told = {
                name: {
                    "tokens_per_pass": tally.tokens / tally.passes,
                    "speedup": tally.tokens / tally.cost[name],
                }
                for name, tally in tallies.items()
            }
            out.write(msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n")
            return
        bar = progress.add_task("learning", total=total)
        profiles = profiling.learn(loaded, curves, partial(progress.advance, bar), search_of)
    out.write(msgspec.json.format(msgspec.json.encode(profiles), indent=1) + b"\n")


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
@click.option(
    "--sessions",
    "as_sessions",
    is_flag=True,
    help="Write commits to several files instead, as requests one after the other, with all "
    "text of the repository.",
)
def mine_command(repository: Path, limit: int, out: IO[bytes], as_sessions: bool) -> None:
    """Write single-region edits out of a local git history, one JSON object a line."""
    found = (sessions.mined if as_sessions else mine.edits)(repository, limit)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("reading the history", total=limit)
        for record in found:
            out.write(msgspec.json.encode(record) + b"\n")
            if not isinstance(record, sessions.Text):
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
    console = Console(stderr=True)
    with Progress(
        console=console, transient=True, auto_refresh=False, disable=not console.is_terminal
    ) as progress:
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
