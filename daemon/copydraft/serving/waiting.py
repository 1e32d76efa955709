"""The requests that wait, in the order in which they will run, and who gives way to whom.

What a person asked for comes before what an editor asks on its own: edits and explanations first,
then completions, then prompts that are prepared. Within each kind it is first come, first served.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from copydraft.errors import Cancelled
from copydraft.protocol import CompleteRequest, Event, Failed, PrepareRequest, Queued
from copydraft.serving.service import Emit, Request


class Job:
    """A request from the moment it is handed in; implements `service.Ticket`."""

    def __init__(self, request: Request, emit: Emit, cancel: Callable[[Job], None]) -> None:
        self.request = request
        self.cancelled = threading.Event()
        self.gave_way = False
        """Another request took its place while it ran."""
        self._emit = emit
        self._cancel = cancel

    def emit(self, event: Event) -> None:
        self._emit(event)

    def cancel(self) -> None:
        self._cancel(self)

    @property
    def rank(self) -> int:
        """0 runs first."""
        match self.request:
            case CompleteRequest():
                return 1
            case PrepareRequest():
                return 2
            case _:
                return 0

    def gives_way_to(self, other: Job) -> bool:
        """Whether it is ended in the middle for `other`: nobody waits long behind it."""
        prepares = isinstance(self.request, PrepareRequest)
        return prepares or self.rank > other.rank

    def is_outdated_by(self, newer: Job) -> bool:
        """Whether its caller, who asks on with every keystroke, now wants `newer` instead."""
        mine, yours = self.request.generation, newer.request.generation
        return self.rank == newer.rank > 0 and (
            (mine.agent, mine.workspace) == (yours.agent, yours.workspace)
        )


class Waiting:
    """A queue of jobs; whoever uses it locks."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, job: Job, *, running: int) -> list[Job]:
        """Queue a job and tell those concerned how many are ahead, `running` ones counted.

        Returns the jobs that it has put out of the queue, to be ended.
        """
        outdated = [other for other in self._jobs if other.is_outdated_by(job)]
        jobs = [other for other in self._jobs if other not in outdated]
        place = sum(other.rank <= job.rank for other in jobs)
        jobs.insert(place, job)
        self._jobs = jobs
        moved = bool(outdated) or place + 1 < len(jobs)
        for ahead, other in enumerate(jobs, start=running):
            if ahead and (moved or other is job):
                other.emit(Queued(ahead=ahead))
        return outdated

    def remove(self, job: Job, *, running: int) -> bool:
        """Take a job out; False if it does not wait."""
        if job not in self._jobs:
            return False
        self._jobs.remove(job)
        self._tell(running)
        return True

    def take(self) -> Job | None:
        """The next job, which then is running; None where none waits."""
        if not self._jobs:
            return None
        job = self._jobs.pop(0)
        self._tell(1)
        return job

    def drain(self) -> list[Job]:
        """All of them; none waits any more."""
        jobs, self._jobs = self._jobs, []
        return jobs

    def _tell(self, running: int) -> None:
        for ahead, job in enumerate(self._jobs, start=running):
            job.emit(Queued(ahead=ahead))


def gave_way() -> Failed:
    """How a job ends that another one has replaced."""
    return Failed.of(Cancelled("another request took its place"))
