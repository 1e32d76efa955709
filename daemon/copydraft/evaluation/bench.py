"""Measure drafting on a real model: the same tasks by several arms, interleaved.

Each run is saved as it ends: what was interrupted goes on where it stopped, and arms, tasks or
repeats that are added later are measured alone. If nothing is missing, no model is loaded.
"""

from __future__ import annotations

import json
import signal
import sys
from contextlib import closing, nullcontext
from pathlib import Path

import click
from rich.console import Console

from copydraft import __version__, devices
from copydraft import config as configuration
from copydraft.config import Config
from copydraft.errors import BadRequest
from copydraft.evaluation import bench_run, traces
from copydraft.evaluation.arms import ARMS, OURS, SERVERS
from copydraft.evaluation.bench_rows import PLAIN, Heading, Saved, missing
from copydraft.evaluation.bench_run import Plan, Runner
from copydraft.evaluation.bench_summary import summary, tables
from copydraft.evaluation.llama_server import Servers, Setup, check_memory
from copydraft.evaluation.record import KINDS
from copydraft.json_option import json_option
from copydraft.protocol import Kind, Sampling
from copydraft.serving import loading
from copydraft.serving.service import NoCosts

_SEED = 7

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("bench", help=__doc__)
@click.argument("tasks", type=_FILE)
@click.option("--model", default="", help="Name or path of a GGUF.")
@click.option("--kind", type=click.Choice(KINDS), default="edit", show_default=True)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Most tasks, the repositories in turn.",
)
@click.option(
    "--arms",
    default="",
    metavar="A,B",
    help=f"Arms by name; without it, all: {', '.join(OURS)}, and with --llama-server "
    f"{', '.join(SERVERS)}.",
)
@click.option("--repeats", type=click.IntRange(1), default=3, show_default=True)
@click.option("--temperature", type=click.FloatRange(0), default=0.0, show_default=True)
@click.option(
    "--llama-server", type=_FILE, help="llama.cpp's server, a peer; of the same build as ours."
)
@click.option("--out", type=_FILE, default="bench.jsonl", show_default=True, help="Where rows go.")
@click.option("--plot", type=_FILE, help="Draw the results, as SVG (needs matplotlib).")
@json_option
def bench_command(
    tasks: Path,
    model: str,
    kind: Kind,
    limit: int,
    arms: str,
    repeats: int,
    temperature: float,
    llama_server: Path | None,
    out: Path,
    plot: Path | None,
    as_json: bool,  # click passes flags so
) -> None:
    config = configuration.load()
    path = loading.wanted(model, config)
    chosen = _arms(arms, servers=llama_server is not None, sampled=temperature > 0)
    plan = Plan(traces.spread(traces.read_tasks(tasks), limit), kind, chosen, repeats)
    heading = Heading(
        version=__version__,
        model=loading.display_name(path),
        tasks=str(tasks.resolve()),
        temperature=temperature,
        threads=config.threads or devices.physical_cores(),
    )
    saved = Saved(out, heading)
    if missing(plan.all_places(), saved.rows):
        _measure(plan, path, config, llama_server, saved)
    result = summary(saved.heading, saved.rows)
    if plot is not None:
        # Heavy, and a tool of development: users do not have it.
        from copydraft.evaluation.plots import draw_bench  # noqa: PLC0415

        draw_bench(saved.heading, saved.rows, plot)
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    for table in tables(result):
        Console().print(table)


def _arms(names: str, *, servers: bool, sampled: bool) -> list[str]:
    """The arms to measure, `plain` first.

    Raises:
        BadRequest: there is no such arm, or it cannot be measured so.
    """
    everything = [*OURS, *(SERVERS if servers and not sampled else ())]
    asked = names.split(",") if names else everything
    for name in asked:
        if name not in ARMS:
            raise BadRequest(f"no arm is named {name!r}", f"there are {', '.join(ARMS)}")
        if name in SERVERS and not servers:
            raise BadRequest(f"{name} needs llama.cpp's server", "name it with --llama-server")
        if name in SERVERS and sampled:
            raise BadRequest(
                f"{name} draws other tokens than ours at a temperature", "leave out --temperature"
            )
    return list(dict.fromkeys([PLAIN, *asked]))


def _measure(plan: Plan, path: Path, config: Config, binary: Path | None, saved: Saved) -> None:
    loaded = loading.load(path, config, NoCosts(), lambda _: True, _tell)
    sampling = Sampling(temperature=saved.heading.temperature, seed=_SEED)
    with closing(loaded.engine):
        servers = None
        if binary is not None:
            setup = Setup(
                binary.resolve(),
                path,
                loaded.engine.context_size,
                saved.heading.threads,
                config.gpu_layers if loaded.engine.model.on_gpu else 0,
            )
            check_memory(setup, sum(arm in SERVERS for arm in plan.arms))
            servers = Servers(setup)
            # A bench that is told to end must not leave them behind.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        with nullcontext() if servers is None else closing(servers):
            saved.begin(loaded.status.device)
            runner = Runner(loaded, config, sampling, servers)
            for row in bench_run.run(
                plan, runner, saved, lambda number, error: _tell(f"task {number}: {error.message}")
            ):
                _tell(
                    f"repeat {row.repeat + 1} of {plan.repeats}, task {row.task + 1} of "
                    f"{len(plan.tasks)}: {row.arm} {len(row.tokens) / row.seconds:.1f} tokens/s"
                )


def _tell(text: str) -> None:
    click.echo(text, err=True)
