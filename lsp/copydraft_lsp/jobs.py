"""Requests in flight, by the names their clients gave them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from copydraft.errors import BadRequest, CopydraftError


class Job:
    """One request, run by the task that made it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._task = asyncio.current_task()
        self._fault: CopydraftError | None = None

    def cancel(self) -> None:
        """As the client wants it: the request is answered as cancelled."""
        if self._task:
            self._task.cancel()

    def fail(self, fault: CopydraftError) -> None:
        """End the request with `fault`; the daemon stops writing."""
        self._fault = fault
        self.cancel()

    def failed(self) -> CopydraftError | None:
        return self._fault


class Jobs:
    """The requests of one editor."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        return len(self._jobs)

    @contextmanager
    def started(self, name: str) -> Iterator[Job]:
        """The current task as a job; "": any free name.

        Raises:
            BadRequest: a request of that name is running.
            CopydraftError: what `Job.fail` was called with.
        """
        if name in self._jobs:
            raise BadRequest(f"a request {name!r} is running already", "choose another id")
        while not name or name in self._jobs:
            name = f"request-{next(self._numbers)}"
        job = self._jobs[name] = Job(name)
        try:
            yield job
        except asyncio.CancelledError:
            if fault := job.failed():
                raise fault from None
            raise
        finally:
            del self._jobs[name]

    def cancel(self, name: str) -> int:
        """Cancel the request of that name, or all with ""; how many were cancelled."""
        found = [job for job in self._jobs.values() if name in ("", job.name)]
        for job in found:
            job.cancel()
        return len(found)
