"""Measure drafting on a real model: the same tasks by several arms, interleaved.

Every arm of a task starts from the same prompt in memory, so that only decoding is timed, and
each measurement is saved as it ends: a run that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TextIO

import click

from copydraft import __version__
from copydraft import config as configuration
from copydraft.drafting.policy import Survival
from copydraft.errors import BadRequest, CopydraftError
from copydraft.evaluation.arms import ARMS, make_drafter
from copydraft.protocol import (
    EditRequest,
    Event,
    ExplainRequest,
    Generation,
    Region,
    Sampling,
)
from copydraft.serving import loading
from copydraft.serving.decoding import Outcome, decode
from copydraft.serving.tasks import Request, kind_of, task_of


class Measured(NamedTuple):
    """One arm's run over one task. Times are seconds."""

    task: int
    kind: str
    arm: str
    repeat: int
    seconds: float
    tokens: list[int]
    margins: list[float]
    passes: int
    drafted: int
    accepted: int
    stop_reason: str


class _Silent:
    """A client that wants nothing but the outcome."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def emit(self, event: Event) -> None:
        pass


class _Costs:
    """The cost of a pass is measured in every run: other work may keep the machine busy."""

    def load_cost(self, key: str) -> dict[int, float] | None:  # noqa: ARG002  # the protocol's
        return None

    def save_cost(self, key: str, ms_by_width: dict[int, float]) -> None:
        pass


class Bench:
    """A loaded model and the tables that its arms learn in."""

    def __init__(self, model: str, config: configuration.Config, temperature: float) -> None:
        self._config = config
        self._sampling = Sampling(temperature=temperature, seed=7)
        self.loaded = loading.load(
            loading.wanted(model, config), config, _Costs(), lambda _: True, click.echo
        )
        self._survival: dict[tuple[str, str], Survival] = {}

    def measure(
        self, request: Request, number: int, arms: list[str], repeat: int
    ) -> Iterator[Measured]:
        """Each arm over one task, the plain one first; its answer is what the oracle knows."""
        # Read the prompt, so that no arm pays for it.
        self._run(request, "plain", [], Generation(max_tokens=1))
        answer: list[int] = []
        for name in arms:
            arm = ARMS[name]
            started = time.perf_counter()
            outcome = self._run(
                request,
                name,
                answer,
                Generation(
                    draft=arm.draft, strict=arm.strict, margins=True, sampling=self._sampling
                ),
            )
            seconds = time.perf_counter() - started
            answer = outcome.tokens if name == "plain" else answer
            yield Measured(
                task=number,
                kind=kind_of(request),
                arm=name,
                repeat=repeat,
                seconds=seconds,
                tokens=outcome.tokens,
                margins=outcome.margins,
                passes=outcome.stats.passes,
                drafted=sum(outcome.stats.drafted.values()),
                accepted=sum(outcome.stats.accepted.values()),
                stop_reason=outcome.stats.stop_reason,
            )

    def _run(
        self, request: Request, name: str, answer: list[int], generation: Generation
    ) -> Outcome:
        # A task is made anew for every run: its reader follows one answer.
        task = task_of(request, self.loaded)
        kind = kind_of(request)
        survival = self._survival.setdefault((name, kind), Survival())
        return decode(
            generation,
            kind,
            task,
            self.loaded,
            self._config,
            _Silent(),
            lambda task, costs: make_drafter(ARMS[name], task, costs, survival, answer),
        )


def requests(path: Path, kind: str, limit: int) -> list[Request]:
    """The first `limit` edit tasks of a file (`shared/data`), asked as edits or explanations.

    Raises:
        BadRequest: the file is not one of tasks.
    """
    try:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()[:limit]]
        regions = [
            Region(path=row["path"], text=row["file"], start=row["start"], end=row["end"])
            for row in rows
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadRequest(f"{path} does not hold edit tasks: {error}") from error
    if kind == "explain":
        return [ExplainRequest(region=region) for region in regions]
    return [
        EditRequest(region=region, instruction=row["instruction"])
        for region, row in zip(regions, rows, strict=True)
    ]


def summary(measured: list[Measured]) -> dict[str, Any]:
    """Per kind and arm: totals, the speedup over plain, and where the text parts from plain's.

    Speedups are of total time over the tasks that both arms ended, by the median of the repeats,
    per token written: texts may fork at a near tie.
    """
    kinds: dict[str, Any] = {}
    for kind in sorted({m.kind for m in measured}):
        mine = [m for m in measured if m.kind == kind]
        kinds[kind] = {arm: _arm_summary(arm, mine) for arm in dict.fromkeys(m.arm for m in mine)}
    return kinds


def _arm_summary(arm: str, measured: list[Measured]) -> dict[str, Any]:
    of_arm = [m for m in measured if m.arm == arm]
    plain = {m.task: m for m in measured if m.arm == "plain"}
    common = sorted({m.task for m in of_arm} & set(plain))
    seconds = {name: _seconds_per_token(name, measured, common) for name in {arm, "plain"}}
    forks = [
        {"task": m.task, "token": at, "margin": plain[m.task].margins[at]}
        for m in of_arm
        if m.task in plain and (at := _fork(plain[m.task].tokens, m.tokens)) is not None
    ]
    passes = sum(m.passes for m in of_arm)
    drafted = sum(m.drafted for m in of_arm)
    return {
        "tasks": len(common),
        "tokens": sum(len(m.tokens) for m in of_arm),
        "tokens_per_s": 1 / seconds[arm] if seconds[arm] else 0.0,
        "speedup": seconds["plain"] / seconds[arm] if seconds[arm] else 0.0,
        "tokens_per_pass": sum(len(m.tokens) for m in of_arm) / passes if passes else 0.0,
        "acceptance_rate": sum(m.accepted for m in of_arm) / drafted if drafted else 0.0,
        "forks": forks,
    }


def _seconds_per_token(arm: str, measured: list[Measured], tasks: list[int]) -> float:
    seconds, tokens = 0.0, 0
    for task in tasks:
        runs = [m for m in measured if m.arm == arm and m.task == task]
        seconds += median(m.seconds for m in runs)
        tokens += len(runs[0].tokens)
    return seconds / tokens if tokens else 0.0


def _fork(plain: list[int], other: list[int]) -> int | None:
    """Position of the first token that differs; a text that ends earlier differs there."""
    if plain == other:
        return None
    pairs = enumerate(zip(plain, other, strict=False))
    shorter = min(len(plain), len(other))
    return next((i for i, (a, b) in pairs if a != b), min(shorter, len(plain) - 1))


def run(
    bench: Bench,
    asked: list[Request],
    arms: list[str],
    repeats: int,
    saved: TextIO,
    done: list[Measured],
) -> list[Measured]:
    """Measure what is not in `done`, and write each measurement to `saved`."""
    have = {(m.task, m.kind, m.arm, m.repeat) for m in done}
    measured = list(done)
    for repeat in range(repeats):
        for number, request in enumerate(asked):
            kind = kind_of(request)
            if all((number, kind, arm, repeat) in have for arm in arms):
                continue
            try:
                for one in bench.measure(request, number, arms, repeat):
                    if (number, kind, one.arm, repeat) in have:
                        continue
                    measured.append(one)
                    saved.write(json.dumps(one._asdict()) + "\n")
                    saved.flush()
            except CopydraftError as error:
                click.echo(f"task {number} left out: {error.message}", err=True)
            _tell(measured, number, len(asked), repeat)
    bench.loaded.engine.close()
    return measured


def _tell(measured: list[Measured], number: int, tasks: int, repeat: int) -> None:
    speeds = ", ".join(
        f"{kind} {arm} {values['speedup']:.2f}x"
        for kind, arms in summary(measured).items()
        for arm, values in arms.items()
        if arm != "plain"
    )
    click.echo(f"repeat {repeat + 1}, task {number + 1} of {tasks}: {speeds}", err=True)


@click.command("bench", help=__doc__)
@click.argument("tasks", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--model", default="", help="Name or path of a GGUF.")
@click.option("--kind", type=click.Choice(["edit", "explain"]), default="edit", show_default=True)
@click.option("--limit", default=20, show_default=True, help="Tasks to take.")
@click.option("--arms", default=",".join(ARMS), show_default=True)
@click.option("--repeats", default=3, show_default=True)
@click.option("--temperature", default=0.0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default="bench.jsonl", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def bench_command(
    tasks: Path,
    model: str,
    kind: str,
    limit: int,
    arms: str,
    repeats: int,
    temperature: float,
    out: Path,
    as_json: bool,  # click passes flags so
) -> None:
    names = ["plain", *(name for name in arms.split(",") if name != "plain")]
    if unknown := set(names) - set(ARMS):
        raise click.BadParameter(f"no arm {', '.join(sorted(unknown))}", param_hint="--arms")
    done = _saved(out, model, tasks, temperature)
    bench = Bench(model, configuration.load(), temperature)
    with out.open("a", encoding="utf-8") as saved:
        measured = run(bench, requests(tasks, kind, limit), names, repeats, saved, done)
    result = summary(measured)
    click.echo(json.dumps(result, indent=2) if as_json else _table(result))


def _saved(out: Path, model: str, tasks: Path, temperature: float) -> list[Measured]:
    """The measurements in `out`, which begins with what was measured.

    Raises:
        BadRequest: it was another model, other tasks, another temperature or another version.
    """
    heading = {
        "model": model,
        "tasks": str(tasks.resolve()),
        "temperature": temperature,
        "version": __version__,
    }
    if not out.exists():
        out.write_text(json.dumps(heading) + "\n", "utf-8")
        return []
    try:
        first, *lines = out.read_text("utf-8").splitlines()
        found = json.loads(first)
        done = [Measured(**json.loads(line)) for line in lines]
    except (ValueError, TypeError) as error:
        raise BadRequest(f"{out} holds no measurements: {error}", "name another --out") from error
    if found != heading:
        raise BadRequest(f"{out} holds measurements of {found}", "name another --out")
    return done


def _table(result: dict[str, Any]) -> str:
    lines = ["kind     arm          speedup  tokens/s  tokens/pass  accepted  forks (margins)"]
    for kind, arms in result.items():
        for arm, v in arms.items():
            forks = ", ".join(f"{fork['margin']:.3f}" for fork in v["forks"]) or "none"
            lines.append(
                f"{kind:8} {arm:12} {v['speedup']:6.2f}x {v['tokens_per_s']:9.1f}"
                f" {v['tokens_per_pass']:12.1f} {v['acceptance_rate']:8.0%}  {forks}"
            )
    return "\n".join(lines)
