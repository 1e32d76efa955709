"""What each answer format and each corpus brings: the same edits, replayed without them.

"emission" drafts from text as the format prints it, "raw" from text as it stands in files: the
region, the workspace and the libraries alike. What the session has written stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, get_args

from copydraft.evaluation.drafters import copydraft
from copydraft.evaluation.inputs import Surrounded
from copydraft.evaluation.replay import Curves, run
from copydraft.evaluation.session_requests import Request
from copydraft.index.search import Search
from copydraft.protocol import EditFormat
from copydraft.traces import Trace

FORMATS: tuple[EditFormat, ...] = tuple(
    name for name in get_args(EditFormat) if name not in ("", "plain")
)
TEXTS = ("emission", "raw")
CORPORA = ("session", "workspace", "global", "both")
"""What is drafted from: the session in each, and what is named."""


class Row(NamedTuple):
    """One way to draft all edits, on one curve."""

    format: str
    text: str
    """"emission" or "raw"."""
    corpora: str
    """Of `CORPORA`."""
    curve: str
    tokens_per_pass: float
    speedup: float
    accepted: dict[str, int]
    """Tokens by corpus."""


def ablation(
    surrounded: Surrounded,
    formats: Sequence[EditFormat],
    curves: Curves,
    step: Callable[[], object],
) -> list[Row]:
    """All rows, `rows_of` them; `step` follows each.

    Raises:
        FileProblem: a directory of the libraries cannot be listed.
    """
    rows = []
    # Text as it stands in files is what a fence holds.
    raw = surrounded.requests("fence")
    for name in formats:
        emitted = raw if name == "fence" else surrounded.requests(name)
        unprinted = {request.trace.name: request for request in raw}
        for text in TEXTS:
            traces = [
                surrounded.raw(request.trace, request.task) if text == "raw" else request.trace
                for request in emitted
            ]
            around = (
                unprinted if text == "raw" else {request.trace.name: request for request in emitted}
            )
            for corpora in CORPORA:
                for curve, costs in curves.items():
                    make = copydraft(costs, search_of=_search(around, corpora))
                    tally = run(traces, make, {curve: costs}, lambda: None)["edit"]
                    rows.append(
                        Row(
                            name,
                            text,
                            corpora,
                            curve,
                            tally.tokens / tally.passes,
                            tally.tokens / tally.cost[curve],
                            dict(tally.accepted),
                        )
                    )
                    step()
    return rows


def rows_of(formats: Sequence[EditFormat], curves: Curves) -> int:
    """How many rows an ablation has."""
    return len(formats) * len(TEXTS) * len(CORPORA) * len(curves)


def _search(around: dict[str, Request], corpora: str) -> Callable[[Trace], Search | None]:
    def search(trace: Trace) -> Search | None:
        if corpora == "session" or trace.name not in around:
            return None
        return around[trace.name].search(
            workspace=corpora in ("workspace", "both"), libraries=corpora in ("global", "both")
        )

    return search
