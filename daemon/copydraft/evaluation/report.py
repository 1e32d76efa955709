"""What a replay found, as JSON and as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from copydraft.evaluation.replay import Tally
from copydraft.traces import Trace

ByKind = Mapping[str, Tally]
Results = Mapping[str, Mapping[str, ByKind]]
"""Tallies by drafter, by curve, by kind."""

_PERCENTILES = {"p50": 0.5, "p99": 0.99}


def as_json(traces: Sequence[Trace], results: Results) -> dict[str, Any]:
    return {
        "tasks": len(traces),
        "tokens": sum(len(trace.output) for trace in traces),
        "drafters": {name: _drafter(curves) for name, curves in results.items()},
    }


def tables(results: Results) -> list[Table]:
    """Speeds, one table for each kind, and one for all if there are several; sources; times."""
    kinds = sorted({kind for curves in results.values() for by in curves.values() for kind in by})
    chosen = [(kind, [kind]) for kind in kinds]
    if len(kinds) > 1:
        chosen.append(("all", kinds))
    speeds = [_speeds(title, of, results) for title, of in chosen]
    return [*speeds, _sources(results), _times(results)]


def _speeds(title: str, kinds: Sequence[str], results: Results) -> Table:
    curves = list(next(iter(results.values())))
    numbers = [f"{name}\n{what}" for name in curves for what in ("tok/pass", "speedup")]
    table = new_table(title, ["drafter"], [*numbers, "\naccepted", "no\ndraft"])
    for drafter, by_curve in results.items():
        cells = []
        for name, by_kind in by_curve.items():
            tally = _sum(by_kind[kind] for kind in kinds if kind in by_kind)
            if tally.passes:
                cells += [f"{tally.tokens / tally.passes:.2f}", f"{_speedup(tally, name):.2f}"]
        both = _sum(by[kind] for by in by_curve.values() for kind in kinds if kind in by)
        if both.passes:
            shares = (_acceptance(both), both.undrafted / both.passes)
            table.add_row(drafter, *cells, *(f"{share:.0%}" for share in shares))
    return table


def _sources(results: Results) -> Table:
    """Acceptance of the drafters that have several sources."""
    table = new_table(
        "acceptance by source", ["drafter", "costs", "source"], ["drafted", "accepted", "share"]
    )
    for drafter, curves in results.items():
        for name, by_kind in curves.items():
            tally = _sum(by_kind.values())
            for corpus, drafted in tally.drafted.most_common() if len(tally.drafted) > 1 else []:
                accepted = tally.accepted[corpus]
                numbers = (f"{drafted}", f"{accepted}", f"{accepted / drafted:.0%}")
                table.add_row(drafter, name, corpus, *numbers)
    return table


def _times(results: Results) -> Table:
    numbers = [f"{what}\n{name}" for what in ("propose", "take in") for name in _PERCENTILES]
    table = new_table("µs", ["drafter"], [*numbers, "start\np50"])
    for drafter, curves in results.items():
        both = _sum(tally for by_kind in curves.values() for tally in by_kind.values())
        times = [*_percentiles(both.propose_ns).values(), *_percentiles(both.written_ns).values()]
        times.append(_percentiles(both.start_ns)["p50"])
        table.add_row(drafter, *(f"{us:.0f}" for us in times))
    return table


def new_table(title: str, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    """Columns of text, then of numbers; all tables of measurements look alike."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name in texts:
        table.add_column(name, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _drafter(curves: Mapping[str, ByKind]) -> dict[str, Any]:
    both = _sum(tally for by_kind in curves.values() for tally in by_kind.values())
    return {
        "curves": {
            name: {
                **_figures(_sum(by_kind.values()), name),
                "kinds": {kind: _figures(tally, name) for kind, tally in by_kind.items()},
            }
            for name, by_kind in curves.items()
        },
        "acceptance_rate": _acceptance(both),
        "draft_us": _percentiles(both.propose_ns),
        "written_us": _percentiles(both.written_ns),
        "start_us": _percentiles(both.start_ns),
    }


def _figures(tally: Tally, curve: str) -> dict[str, Any]:
    return {
        "passes": tally.passes,
        "tokens_per_pass": tally.tokens / tally.passes,
        "speedup": _speedup(tally, curve),
        "acceptance_rate": _acceptance(tally),
        "undrafted": tally.undrafted / tally.passes,
        "sources": {
            corpus: {"drafted": drafted, "accepted": tally.accepted[corpus]}
            for corpus, drafted in tally.drafted.items()
        },
    }


def _sum(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total.merge(tally)
    return total


def _speedup(tally: Tally, curve: str) -> float:
    return tally.tokens / tally.cost[curve]


def _acceptance(tally: Tally) -> float:
    drafted = tally.drafted.total()
    return tally.accepted.total() / drafted if drafted else 0.0


def _percentiles(times: Sequence[int]) -> dict[str, float]:
    """In microseconds, of nanoseconds."""
    ordered = sorted(times)
    return {
        name: ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1000
        for name, share in _PERCENTILES.items()
    }
