"""Runs of the same tasks by several arms, interleaved, on one loaded model.

Every arm of a task starts from the same prompt in memory, so that only decoding is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from copydraft.config import Config
from copydraft.drafting.drafter import Drafter, NoDrafter
from copydraft.errors import BadRequest
from copydraft.evaluation.arms import ARMS, Drafters, Watched
from copydraft.evaluation.bench_rows import PLAIN, Measured, Place, Saved, missing
from copydraft.evaluation.edit_task import EditTask
from copydraft.evaluation.llama_server import Servers
from copydraft.evaluation.record import Silent, request_of
from copydraft.protocol import Generation, Kind, Sampling
from copydraft.serving.decoding import Outcome, decode
from copydraft.serving.loading import Loaded
from copydraft.serving.tasks import Task, task_of
from copydraft.traces import Trace, record


class Plan(NamedTuple):
    """What is to be measured. The arm `plain` comes first: others are told its answer."""

    tasks: Sequence[EditTask]
    kind: Kind
    arms: Sequence[str]
    repeats: int

    def places(self, repeat: int, number: int) -> list[Place]:
        """The arms of one task, `plain` first; the others take turns in being early."""
        first, *others = self.arms
        turn = (repeat + number) % max(1, len(others))
        order = [first, *others[turn:], *others[:turn]]
        return [Place(number, self.kind, arm, repeat) for arm in order]

    def all_places(self) -> list[Place]:
        return [place for repeat, number in self.turns() for place in self.places(repeat, number)]

    def turns(self) -> list[tuple[int, int]]:
        """Repeat and number of a task, in the order of measuring."""
        return [(r, n) for r in range(self.repeats) for n in range(len(self.tasks))]


class Runner:
    """Runs one arm over one task."""

    def __init__(
        self, loaded: Loaded, config: Config, sampling: Sampling, servers: Servers | None
    ) -> None:
        """`servers` are needed for arms of llama.cpp's server only."""
        self._loaded = loaded
        self._config = config
        self._sampling = sampling
        self._servers = servers
        widest = loaded.engine.widest_draft(config.max_draft) + 1
        self._drafters = Drafters(loaded.costs.table(widest))

    def prepare(self, task: EditTask, kind: Kind) -> None:
        """Read the prompt, so that no arm pays for it.

        Raises:
            BadRequest: the task makes no request.
            EngineProblem: llama.cpp failed.
        """
        self._decode(task, kind, Generation(draft=False, max_tokens=1), NoDrafter())

    def relearn(self, task: EditTask, row: Measured) -> None:
        """Teach the arm's drafter what it learned when the row was measured."""
        if ARMS[row.arm].drafter:
            self._drafters.relearn(row.arm, row.repeat, self._trace(task, row.kind, row.tokens))

    def measure(self, task: EditTask, place: Place, answer: Sequence[int]) -> Measured:
        """One run; `answer` is what plain decoding wrote, if that is known.

        Raises:
            BadRequest: the task makes no request.
            FileProblem, EngineProblem: the server cannot be started, it or the engine failed.
        """
        arm = ARMS[place.arm]
        if arm.server:
            return self._by_server(task, place, answer)
        drafter: Watched | NoDrafter = NoDrafter()
        if arm.drafter:
            trace = self._trace(task, place.kind, answer)
            drafter = self._drafters.make(place.arm, place.repeat, trace)
        generation = Generation(
            draft=bool(arm.drafter), strict=arm.strict, margins=True, sampling=self._sampling
        )
        started = time.perf_counter()
        outcome = self._decode(task, place.kind, generation, drafter)
        seconds = time.perf_counter() - started
        stats = outcome.stats
        return Measured(
            **place._asdict(),
            seconds=seconds,
            tokens=outcome.tokens,
            margins=[round(margin, 5) for margin in outcome.margins],
            passes=stats.passes,
            drafted=stats.drafted,
            accepted=stats.accepted,
            steps=drafter.steps if isinstance(drafter, Watched) else [],
            stop_reason=stats.stop_reason,
        )

    def _task(self, task: EditTask, kind: Kind) -> Task:
        return task_of(request_of(task, kind, Generation()), self._loaded)

    def _trace(self, task: EditTask, kind: Kind, output: Sequence[int]) -> Trace:
        """The task as drafters are told of it; `output` is for those that know it."""
        asked = self._task(task, kind)
        return record(
            kind, asked.prompt, asked.documents, asked.quotations, output, (), repo=task.repo
        )

    def _decode(
        self, task: EditTask, kind: Kind, generation: Generation, drafter: Drafter
    ) -> Outcome:
        # A task is made anew for every run: its reader follows one answer.
        asked = self._task(task, kind)
        return decode(
            generation, kind, asked, self._loaded, self._config, Silent(), lambda *_: drafter
        )

    def _by_server(self, task: EditTask, place: Place, answer: Sequence[int]) -> Measured:
        if self._servers is None:
            raise ValueError(f"{place.arm} needs a server")
        prompt = self._task(task, place.kind).prompt
        server = self._servers.of(ARMS[place.arm].server, place.repeat)
        server.complete(prompt, max_tokens=1)
        done = server.complete(prompt, max_tokens=len(answer))
        tokens = done.tokens
        if done.ended:
            tokens = with_end(tokens, answer, self._loaded.engine.model.end_tokens)
        return Measured(
            **place._asdict(),
            seconds=done.seconds,
            tokens=tokens,
            margins=[],
            passes=len(tokens) - done.accepted,
            drafted={"server": done.drafted} if done.drafted else {},
            accepted={"server": done.accepted} if done.drafted else {},
            steps=[],
            stop_reason="end" if done.ended else "length",
        )


def with_end(tokens: list[int], answer: Sequence[int], ends: frozenset[int]) -> list[int]:
    """The tokens and an end token, as our arms keep it: a server does not tell which it was.

    It is the answer's own if that ends there too. A server that does tell is believed.
    """
    if tokens and tokens[-1] in ends:
        return tokens
    expected = answer[len(tokens)] if len(tokens) < len(answer) else None
    return [*tokens, expected if expected is not None and expected in ends else min(ends)]


def run(
    plan: Plan, runner: Runner, saved: Saved, left_out: Callable[[int, BadRequest], object]
) -> Iterator[Measured]:
    """Measure and save what is missing, task by task.

    A task that makes no request (too large, say) is left out and told of.

    Raises:
        DiskProblem: a row cannot be saved.
        FileProblem, EngineProblem: see `Runner.measure`. What is saved stays.
    """
    for repeat, number in plan.turns():
        task = plan.tasks[number]
        places = plan.places(repeat, number)
        wanted = missing(places, saved.rows)
        try:
            for place in places:
                if place not in wanted:
                    runner.relearn(task, saved.rows[place])
            if any(not ARMS[place.arm].server for place in wanted):
                runner.prepare(task, plan.kind)
        except BadRequest as error:
            left_out(number, error)
            continue
        for place in wanted:
            plain = saved.rows.get(place._replace(arm=PLAIN))
            row = runner.measure(task, place, plain.tokens if plain else ())
            saved.add(row)
            yield row
