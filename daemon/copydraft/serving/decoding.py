"""The loop of passes that answers one request."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from copydraft.drafting.drafter import Drafter, NoDrafter
from copydraft.engine.sampling import Beginning, Recorder
from copydraft.errors import Cancelled, CopydraftError
from copydraft.serving.sequence import ActiveSequence, Limits

if TYPE_CHECKING:
    import threading

    from copydraft.config import Config
    from copydraft.protocol import Event, Generation, Kind, RequestStats, Span
    from copydraft.serving.loading import Loaded
    from copydraft.serving.tasks import Task


class Client(Protocol):
    """Who waits for the answer."""

    @property
    def cancelled(self) -> threading.Event: ...
    def emit(self, event: Event) -> None: ...


MakeDrafter = Callable[["Task", list[float]], Drafter]
"""A drafter for a task; the costs of passes by width, width 1 first, say how far it may draft."""


@dataclass(frozen=True)
class Outcome:
    """A raw answer, or as much as there was when `error` ended it."""

    tokens: list[int]
    text: str
    spans: list[Span]
    margins: list[float]
    top8: list[list[int]]
    """The model's likeliest tokens at each position, where the setting `record` is on."""
    stats: RequestStats
    error: CopydraftError | None


def decode(
    generation: Generation,
    kind: Kind,
    task: Task,
    loaded: Loaded,
    config: Config,
    client: Client,
    make_drafter: MakeDrafter,
) -> Outcome:
    """Decode the answer to `task`, telling the client of text as it comes.

    Raises:
        EngineProblem: llama.cpp failed; the engine's memory is not to be trusted any more.
    """
    engine = loaded.engine
    strict = generation.strict or config.strict
    drafts = generation.draft and config.max_draft > 0
    limits = Limits(
        max_tokens=task.max_tokens,
        draft=engine.widest_draft(config.max_draft) if drafts else 0,
        tie_threshold=loaded.calibration.tie_threshold if strict else 0.0,
        stops=tuple(generation.stop),
        ends=task.ends,
        spelled=task.spelled,
        beginning=len(task.beginning),
    )
    picker = engine.picker(generation.sampling)
    if task.beginning:
        picker = Beginning(picker, task.beginning, engine.model)
    recorder = Recorder(picker) if config.record else None
    costs = loaded.costs.table(limits.draft + 1)
    sequence = ActiveSequence(
        engine,
        task.prompt,
        make_drafter(task, costs) if limits.draft else NoDrafter(),
        recorder or picker,
        task.reader,
        limits,
        client.emit,
    )
    error: CopydraftError | None = None
    try:
        while not sequence.stop_reason:
            if client.cancelled.is_set():
                raise Cancelled("between two passes")
            feed = sequence.feed()
            started = time.perf_counter()
            engine.decode([feed])
            sequence.take(0, time.perf_counter() - started)
    except Cancelled:
        error = Cancelled("the request was cancelled")
    sequence.close()
    stats = sequence.meter.stats(
        kind=kind,
        agent=generation.agent,
        model=loaded.status.name,
        device=loaded.status.device,
        draft=limits.draft > 0,
        strict=strict,
        stop_reason="cancelled" if error else sequence.stop_reason,
    )
    loaded.costs.learn((each.width, each.passes, each.ms) for each in stats.verify)
    margins = sequence.margins if generation.margins else []
    return Outcome(
        tokens=sequence.output,
        text=sequence.stream.text,
        spans=sequence.stream.spans,
        margins=margins,
        top8=recorder.top8 if recorder else [],
        stats=stats,
        error=error,
    )
