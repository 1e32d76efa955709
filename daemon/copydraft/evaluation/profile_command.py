"""`copydraft profile`: learn from a repository's own edits where drafting should begin."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.progress import Progress

from copydraft import config as configuration
from copydraft import devices, paths
from copydraft.config import Config
from copydraft.drafting.profile import Profiles
from copydraft.errors import BadRequest
from copydraft.evaluation import mine, profiling, record, traces
from copydraft.evaluation.curves import curve
from copydraft.evaluation.edit_task import EditTask
from copydraft.evaluation.replay import Curves
from copydraft.index.store import StateStore
from copydraft.json_option import json_option
from copydraft.serving import loading
from copydraft.serving.service import CostStore
from copydraft.traces import Trace

_LEAST_EDITS = 8
_WIDEST = 64
_HELD_OUT = 4
"""One edit in so many is kept to measure with, and learned from only afterwards."""


@click.command("profile")
@click.option(
    "--repo",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Git repository to learn from; without it, the one here.",
)
@click.option("--limit", type=click.IntRange(1), help="Most edits (200; with --live 40).")
@click.option("--live", is_flag=True, help="Let the model answer the edits: slow, and truer.")
@click.option("--model", default="", help="Model by name or path of a .gguf.")
@json_option
def profile_command(repo: Path, limit: int | None, live: bool, model: str, as_json: bool) -> None:
    """Learn from the edits in a git history how to draft here, and keep it in the database.

    The daemon begins with it when it next loads a model.
    """
    config = configuration.load()
    path = loading.wanted(model, config)
    store = StateStore(paths.state_database())
    console = Console(stderr=True)
    try:
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            tasks = _mined(repo, limit or (40 if live else 200), progress)
            if live:
                found, curves = _live(path, config, store, tasks, progress)
            else:
                vocabulary = traces.Vocabulary(path)
                found = [vocabulary.trace(task) for task in tasks]
                card = devices.usable_card_memory(gpu_layers=config.gpu_layers)
                name = "cpu" if card is None else "flat"
                curves = {name: curve(name, _WIDEST)}
            result = _learn(found, curves, progress)
        store.replace_profiles(
            {kind: msgspec.json.encode(profile) for kind, profile in result["profiles"].items()}
        )
    finally:
        store.close()
    _print(result, len(tasks), as_json=as_json)


def _mined(repo: Path, limit: int, progress: Progress) -> list[EditTask]:
    bar = progress.add_task("reading the history", total=limit)
    tasks = []
    for task in mine.edits(repo, limit):
        tasks.append(task)
        progress.advance(bar)
    progress.remove_task(bar)
    if len(tasks) < _LEAST_EDITS:
        raise BadRequest(
            f"{repo.resolve()} has {len(tasks)} edits of a kind that can be learned from",
            f"take a repository with at least {_LEAST_EDITS}: small commits to code files",
        )
    return tasks


def _live(
    path: Path,
    config: Config,
    costs: CostStore,
    tasks: Sequence[EditTask],
    progress: Progress,
) -> tuple[list[Trace], Curves]:
    """What the model answers, and the measured cost of a pass."""
    bar = progress.add_task("asking the model", total=len(tasks))
    loaded = loading.load(path, config, costs, lambda _: True, progress.console.print)
    said = ""

    def tell(number: int, what: str) -> None:
        nonlocal said
        said = what
        progress.update(bar, completed=number)

    try:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "traces.jsonl"
            record.record(loaded, config, tasks, "edit", out, tell)
            found = traces.read(out, None) if out.exists() else []
        width = loaded.engine.widest_draft(_WIDEST - 1) + 1
        curves = {loaded.status.device: loaded.costs.table(width)}
    finally:
        loaded.engine.close()
    progress.remove_task(bar)
    if len(found) < _LEAST_EDITS:
        raise BadRequest(
            f"the model answered {len(found)} of {len(tasks)} edits: {said}",
            f"at least {_LEAST_EDITS} are needed: try another model or a higher --limit",
        )
    return found, curves


def _learn(found: Sequence[Trace], curves: Curves, progress: Progress) -> dict[str, Any]:
    """Profiles of all edits, and what profiles of most bring on the edits that were held out."""
    # The newest come first: what was learned from old edits is tried on new ones.
    held_out, rest = found[: len(found) // _HELD_OUT], found[len(found) // _HELD_OUT :]
    total = profiling.rounds(curves) * (len(rest) + len(found))
    step = partial(progress.advance, progress.add_task("learning", total=total))
    tried = profiling.learn(rest, curves, step)
    profiles = profiling.learn(found, curves, step)
    return {
        "profiles": profiles,
        "speedup": {
            name: {
                "shipped": profiling.speedup(held_out, costs, {}),
                "learned": profiling.speedup(held_out, costs, tried),
            }
            for name, costs in curves.items()
        },
    }


def _print(result: dict[str, Any], edits: int, *, as_json: bool) -> None:
    profiles: Profiles = result["profiles"]
    if as_json:
        text = msgspec.json.encode({"edits": edits, **result}).decode()
    else:
        text = "\n".join(
            [
                f"learned from {edits} edits",
                *(
                    f"{kind}: {1 / profile.passes:.1f} tokens a pass, "
                    f"drafts begin with at most {profile.cap}"
                    for kind, profile in profiles.items()
                ),
                *(
                    f"on the newest, kept apart, with the costs of {name}: "
                    f"{of['shipped']:.2f}x before, {of['learned']:.2f}x with the profile"
                    for name, of in result["speedup"].items()
                ),
            ]
        )
    click.echo(text)
