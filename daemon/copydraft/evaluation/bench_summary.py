"""What the rows of a bench say: speeds with their ranges, forks, and one verification step.

All speeds are per token written, since texts may part at a near tie. A repeat's speedup compares
totals over the tasks that the arm and plain decoding both ended; of several repeats the median is
given, with the slowest and the fastest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import mean, median
from typing import Any

from rich.table import Table

from copydraft.evaluation.arms import SERVER_PREFIX
from copydraft.evaluation.bench_rows import PLAIN, Heading, Measured, Rows
from copydraft.evaluation.report import new_table

_SERVER_PLAIN = SERVER_PREFIX + PLAIN

Turns = dict[tuple[int, int], Measured]
"""One arm's rows by repeat and task."""


def summary(heading: Heading, rows: Rows) -> dict[str, Any]:
    """All results, by kind and arm."""
    kinds = sorted({row.kind for row in rows.values()})
    return {
        "model": heading.model,
        "device": heading.device,
        "threads": heading.threads,
        "temperature": heading.temperature,
        "kinds": {kind: _kind(of_kind(rows.values(), kind)) for kind in kinds},
    }


def of_kind(rows: Iterable[Measured], kind: str) -> list[Measured]:
    return [row for row in rows if row.kind == kind]


def _kind(rows: Sequence[Measured]) -> dict[str, Any]:
    by_arm: defaultdict[str, list[Measured]] = defaultdict(list)
    for row in rows:
        by_arm[row.arm].append(row)
    plain = _by_turn(by_arm[PLAIN])
    server = _by_turn(by_arm[_SERVER_PLAIN])
    arms = {}
    for arm, mine in by_arm.items():
        if not mine:
            continue
        arms[arm] = _arm(mine, plain)
        if arm.startswith(SERVER_PREFIX) and server:
            arms[arm]["over_server_plain"] = _spread(speedups(mine, server))
    return {"arms": arms, "verification_step": verification_step(rows)}


def _by_turn(rows: Sequence[Measured]) -> Turns:
    return {(row.repeat, row.task): row for row in rows}


def _arm(mine: Sequence[Measured], plain: Turns) -> dict[str, Any]:
    passes = sum(row.passes for row in mine)
    drafted = sum(sum(row.drafted.values()) for row in mine)
    accepted = sum(sum(row.accepted.values()) for row in mine)
    tokens = sum(len(row.tokens) for row in mine)
    return {
        "tasks": len({row.task for row in mine}),
        "repeats": len({row.repeat for row in mine}),
        "tokens": tokens,
        "tokens_per_s": _spread(_rates(mine)),
        "speedup": _spread(speedups(mine, plain)),
        "tokens_per_pass": tokens / passes if passes else 0.0,
        "acceptance_rate": accepted / drafted if drafted else 0.0,
        "sources": _sources(mine),
        "forks": _forks(mine, plain),
    }


def speedups(mine: Sequence[Measured], plain: Turns) -> list[float]:
    """One speedup per repeat; repeats that ended fewer tasks than others are left out."""
    pairs: defaultdict[int, list[tuple[Measured, Measured]]] = defaultdict(list)
    for row in mine:
        base = plain.get((row.repeat, row.task))
        if base is not None and row.tokens and base.tokens:
            pairs[row.repeat].append((row, base))
    most = max(map(len, pairs.values()), default=0)
    return [
        _seconds_per_token(base for _, base in both) / _seconds_per_token(row for row, _ in both)
        for both in pairs.values()
        if len(both) == most
    ]


def _rates(mine: Sequence[Measured]) -> list[float]:
    by_repeat: defaultdict[int, list[Measured]] = defaultdict(list)
    for row in mine:
        if row.tokens:
            by_repeat[row.repeat].append(row)
    most = max(map(len, by_repeat.values()), default=0)
    return [1 / _seconds_per_token(rows) for rows in by_repeat.values() if len(rows) == most]


def _seconds_per_token(rows: Iterable[Measured]) -> float:
    both = [(row.seconds, len(row.tokens)) for row in rows]
    return sum(seconds for seconds, _ in both) / sum(tokens for _, tokens in both)


def _spread(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {"median": 0.0, "least": 0.0, "most": 0.0}
    return {"median": median(values), "least": min(values), "most": max(values)}


def _sources(rows: Sequence[Measured]) -> dict[str, Any]:
    drafted: defaultdict[str, int] = defaultdict(int)
    accepted: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        for corpus, count in row.drafted.items():
            drafted[corpus] += count
            accepted[corpus] += row.accepted.get(corpus, 0)
    return {c: {"drafted": drafted[c], "accepted": accepted[c]} for c in drafted}


def _forks(mine: Sequence[Measured], plain: Turns) -> list[dict[str, Any]]:
    """Where a text parts from plain decoding's, by how little plain's token led there (logits)."""
    found = []
    for row in mine:
        base = plain.get((row.repeat, row.task))
        at = None if base is None else _fork(base.tokens, row.tokens)
        if base is not None and at is not None:
            found.append(
                {"task": row.task, "repeat": row.repeat, "token": at, "margin": base.margins[at]}
            )
    return found


def _fork(plain: Sequence[int], other: Sequence[int]) -> int | None:
    """Position of the first token that differs; a text that ends earlier differs there."""
    if plain == other:
        return None
    pairs = enumerate(zip(plain, other, strict=False))
    shorter = min(len(plain), len(other))
    return next((i for i, (a, b) in pairs if a != b), min(shorter, len(plain) - 1))


def verification_step(rows: Sequence[Measured]) -> dict[str, float] | None:
    """The mean pass that verifies a draft of copydraft's; None if there is none.

    A decode step is plain decoding's mean time for a token on the same tasks.
    """
    plain = [row for row in rows if row.arm == PLAIN and row.tokens]
    steps = [step for row in rows if row.arm == "copydraft" for step in row.steps if step.drafted]
    if not steps or not plain:
        return None
    step_ms = 1000 * _seconds_per_token(plain)
    pass_ms = mean(step.pass_us for step in steps) / 1000
    accepted = mean(step.accepted for step in steps)
    return {
        "steps": len(steps),
        "proposed": mean(step.drafted for step in steps),
        "propose_us": median(step.draft_us for step in steps),
        "passes": 1,
        "pass_ms": pass_ms,
        "decode_step_ms": step_ms,
        "pass_in_decode_steps": pass_ms / step_ms,
        "accepted": accepted,
        "written": mean(step.written for step in steps),
        # The pass also writes the model's own next token, as a plain step would.
        "steps_avoided": accepted,
    }


def tables(result: dict[str, Any]) -> list[Table]:
    """A summary to be read: for each kind the arms, and one verification step."""
    where = f"{result['model']} on {result['device']}, threads: {result['threads']}"
    made = []
    for kind, of in result["kinds"].items():
        made.append(_arms_table(f"{kind}: {where}", of["arms"]))
        if of["verification_step"]:
            made.append(_step_table(f"{kind}: one verification step, {where}", of))
    return made


def _arms_table(title: str, arms: dict[str, Any]) -> Table:
    numbers = [
        "speedup",
        "range",
        "tok/s",
        "tok/\npass",
        "drafts\nright",
        "forks",
        "margins\nup to",
    ]
    table = new_table(title, ["arm"], numbers)
    for arm, values in arms.items():
        speedup, forks = values["speedup"], values["forks"]
        table.add_row(
            arm,
            f"{speedup['median']:.2f}",
            f"{speedup['least']:.2f}-{speedup['most']:.2f}",
            f"{values['tokens_per_s']['median']:.1f}",
            f"{values['tokens_per_pass']:.1f}",
            f"{values['acceptance_rate']:.0%}",
            str(len(forks)),
            f"{max(fork['margin'] for fork in forks):.3f}" if forks else "",
        )
    return table


def _step_table(title: str, of: dict[str, Any]) -> Table:
    step = of["verification_step"]
    table = new_table(title, [""], ["count", "cost"])
    table.add_row(
        "tokens proposed by copying", f"{step['proposed']:.1f}", f"{step['propose_us']:.0f} µs, CPU"
    )
    table.add_row(
        "model forward pass to confirm them",
        "1",
        f"{step['pass_in_decode_steps']:.2f} decode steps, {step['pass_ms']:.1f} ms",
    )
    table.add_row(
        "tokens accepted",
        f"{step['accepted']:.1f}",
        f"{step['written']:.1f} written with the model's",
    )
    table.add_row("serial decode steps avoided", f"{step['steps_avoided']:.1f}", "not run at all")
    return table
