"""Replay traces through drafters: what each would have drafted, and what that would have cost.

No model runs. The trace's output stands for what the model picks, so a draft is right exactly as
far as it equals the output, and a pass costs what the curve says for its width.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from copydraft.evaluation.baselines.tree import accepted_length
from copydraft.evaluation.drafters import Entry, MakeDrafter, Replayed
from copydraft.traces import Trace

Curves = Mapping[str, Sequence[float]]
"""Costs by the curve's name; index 0 is width 1. All are as long as the widest pass."""


class Pass(NamedTuple):
    """One pass: its tokens, and how long the drafter took to propose and to take in."""

    written: int
    drafted: int
    accepted: int
    corpus: str
    propose_ns: int
    written_ns: int


@dataclass
class Tally:
    """Passes of many traces, summed."""

    tokens: int = 0
    passes: int = 0
    undrafted: int = 0
    """Passes without a draft."""
    drafted: Counter[str] = field(default_factory=Counter)
    """Tokens by corpus, as `accepted`."""
    accepted: Counter[str] = field(default_factory=Counter)
    cost: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """In passes of width 1, by curve."""
    propose_ns: list[int] = field(default_factory=list)
    written_ns: list[int] = field(default_factory=list)
    start_ns: list[int] = field(default_factory=list)
    """Time to make a drafter, which reads the prompt."""

    def add(self, done: Pass, curves: Curves) -> None:
        self.tokens += done.written
        self.passes += 1
        self.undrafted += done.drafted == 0
        if done.drafted:
            self.drafted[done.corpus] += done.drafted
            self.accepted[done.corpus] += done.accepted
        for name, costs in curves.items():
            self.cost[name] += costs[done.drafted]
        self.propose_ns.append(done.propose_ns)
        self.written_ns.append(done.written_ns)

    def merge(self, other: Tally) -> None:
        self.tokens += other.tokens
        self.passes += other.passes
        self.undrafted += other.undrafted
        self.drafted += other.drafted
        self.accepted += other.accepted
        for name, cost in other.cost.items():
            self.cost[name] += cost
        self.propose_ns += other.propose_ns
        self.written_ns += other.written_ns
        self.start_ns += other.start_ns


def passes(trace: Trace, drafter: Replayed, limit: int) -> Iterator[Pass]:
    """The passes that decode the trace, with at most `limit` drafted tokens in each."""
    output = trace.output
    at = 0
    while at < len(output):
        started = time.perf_counter_ns()
        draft = drafter.propose(limit)
        proposed = time.perf_counter_ns()
        rest = output[at : at + len(draft.tokens) + 1]
        accepted = accepted_length(draft, rest)
        # The model's own token follows the accepted ones, unless they end the output.
        written = output[at : at + accepted + 1]
        taking = time.perf_counter_ns()
        drafter.written(written, accepted)
        taken = time.perf_counter_ns()
        yield Pass(
            written=len(written),
            drafted=len(draft.tokens),
            accepted=accepted,
            corpus=draft.corpus,
            propose_ns=proposed - started,
            written_ns=taken - taking,
        )
        at += len(written)


def run(
    traces: Iterable[Trace], make: MakeDrafter, curves: Curves, step: Callable[[], object]
) -> dict[str, Tally]:
    """Replay all traces in order, priced by all curves; sums by kind. `step` follows each trace."""
    limit = min(map(len, curves.values())) - 1
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for trace in traces:
        tally = tallies[trace.kind]
        started = time.perf_counter_ns()
        drafter = make(trace)
        tally.start_ns.append(time.perf_counter_ns() - started)
        for done in passes(trace, drafter, limit):
            tally.add(done, curves)
        step()
    return dict(tallies)


def replay(
    traces: Sequence[Trace], entry: Entry, curves: Curves, step: Callable[[], object]
) -> dict[str, dict[str, Tally]]:
    """By curve, then by kind: the tally of one drafter.

    Where drafts do not depend on the costs, one run serves all curves.
    """
    if not entry.by_cost:
        costs = next(iter(curves.values()))
        tallies = run(traces, entry.start(costs), curves, step)
        return dict.fromkeys(curves, tallies)
    return {
        name: run(traces, entry.start(costs), {name: costs}, step) for name, costs in curves.items()
    }
