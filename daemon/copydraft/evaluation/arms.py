"""Ways to decode the same task, to be measured beside one another on a real model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from copydraft.evaluation.bench_rows import PLAIN, Step
from copydraft.evaluation.drafters import DRAFTERS, MakeDrafter, Replayed
from copydraft.evaluation.replay import passes
from copydraft.tokens import NO_DRAFT, Draft
from copydraft.traces import Trace

SERVER_PREFIX = "server-"


class Arm(NamedTuple):
    """A drafter of replay's by name, "" for none, and how its passes are run."""

    drafter: str = ""
    strict: bool = False
    """Near ties are settled by plain decoding."""
    server: str = ""
    """llama.cpp's server decodes, drafting of this type ("plain" for none)."""


OURS = {
    PLAIN: Arm(),
    "copydraft": Arm("copydraft"),
    "strict": Arm("copydraft", strict=True),
    "oracle": Arm("oracle"),
    # Trees need the model's top 8, which are recorded for replay only.
    **{
        name: Arm(name)
        for name, entry in DRAFTERS.items()
        if not entry.needs_top8 and name not in ("copydraft", "oracle")
    },
}

SERVERS = {
    SERVER_PREFIX + kind: Arm(server=kind)
    for kind in (
        "plain",
        "ngram-simple",
        "ngram-map-k",
        "ngram-map-k4v",
        "ngram-mod",
        "ngram-cache",
    )
}

ARMS = OURS | SERVERS


class Drafters:
    """The drafters of one run over all tasks: what each learns of one, it has for the next.

    Every arm learns by itself and every repeat begins anew, or it would know the answers.
    """

    def __init__(self, costs: Sequence[float]) -> None:
        """`costs` of passes by width, relative to width 1, which is at index 0."""
        self._costs = costs
        self._makers: dict[tuple[str, int], MakeDrafter] = {}

    def make(self, arm: str, repeat: int, trace: Trace) -> Watched:
        key = (arm, repeat)
        if key not in self._makers:
            self._makers[key] = DRAFTERS[ARMS[arm].drafter].start(self._costs)
        return Watched(self._makers[key](trace))

    def relearn(self, arm: str, repeat: int, trace: Trace) -> None:
        """Teach what a run measured earlier would have taught: its output is the trace's."""
        for _ in passes(trace, self.make(arm, repeat, trace), len(self._costs) - 1):
            pass


class Watched:
    """A drafter of chains, and a note of every pass."""

    def __init__(self, drafter: Replayed) -> None:
        self.steps: list[Step] = []
        self._drafter = drafter
        self._draft = NO_DRAFT
        self._draft_ns = 0
        self._run = 0
        self._since = time.perf_counter_ns()

    def propose(self, limit: int) -> Draft:
        started = time.perf_counter_ns()
        draft = self._drafter.propose(limit)
        self._since = time.perf_counter_ns()
        if not isinstance(draft, Draft):
            raise TypeError(f"{type(self._drafter).__name__} drafts trees")
        self._draft_ns = self._since - started
        self._draft = draft
        return draft

    def written(self, tokens: Sequence[int], accepted: int) -> None:
        now = time.perf_counter_ns()
        drafted = len(self._draft.tokens)
        self.steps.append(
            Step(
                drafted=drafted,
                accepted=accepted,
                written=len(tokens),
                pass_us=(now - self._since) // 1000,
                draft_us=self._draft_ns // 1000,
                corpus=self._draft.corpus,
                run=self._run,
            )
        )
        self._run = self._run + drafted if drafted and accepted == drafted else 0
        self._drafter.written(tokens, accepted)
        # Strict mode decodes again without asking for a draft.
        self._draft, self._draft_ns = NO_DRAFT, 0
        self._since = time.perf_counter_ns()
