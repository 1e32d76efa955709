"""Requests in turn, one model at a time: the thread that owns the engine.

Implements `service.Service`. Requests run first come, first served; a request for another model
waits for its turn like any other, then the model is switched and the client told.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from copydraft import paths, traces
from copydraft.config import Config
from copydraft.drafting.drafter import CopyDrafter, Drafter
from copydraft.drafting.policy import Policy
from copydraft.errors import Cancelled, CopydraftError, DiskProblem, EngineProblem
from copydraft.protocol import (
    DocumentUpdates,
    Event,
    Failed,
    Loading,
    Notice,
    Queued,
    RequestStats,
    Result,
)
from copydraft.serving import loading
from copydraft.serving.decoding import Outcome, decode
from copydraft.serving.learned import EarlierAnswers, Experiences
from copydraft.serving.service import CostStore, Emit, ProfileStore, ServingStatus
from copydraft.serving.tasks import Request, Task, format_of, kind_of, task_of
from copydraft.serving.workspaces import Workspaces

if TYPE_CHECKING:
    from copydraft.protocol import Kind

_log = logging.getLogger(__name__)


class Job:
    """A request from the moment it is handed in; implements `service.Ticket`."""

    def __init__(self, request: Request, emit: Emit, cancel: Callable[[Job], None]) -> None:
        self.request = request
        self.cancelled = threading.Event()
        self._emit = emit
        self._cancel = cancel

    def emit(self, event: Event) -> None:
        self._emit(event)

    def cancel(self) -> None:
        self._cancel(self)


class Scheduler:
    """The queue and the engine's thread, which starts at once and loads a model when needed."""

    def __init__(
        self,
        config: Config,
        *,
        record: Callable[[RequestStats], None],
        costs: CostStore,
        profiles: ProfileStore,
        workspaces: Workspaces,
    ) -> None:
        self._config = config
        self._record = record
        self._costs = costs
        self._changed = threading.Condition()
        self._waiting: deque[Job] = deque()
        self._active: Job | None = None
        self._loaded: loading.Loaded | None = None
        self._unload_wanted = self._unloaded = self._stopping = False
        self._ended = 0
        self._idle_since: float | None = time.monotonic()
        self._last_rate = 0.0
        self._drafted = self._accepted = 0
        self._experiences = Experiences(profiles)
        self._answers = EarlierAnswers()
        self._workspaces = workspaces
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    # --- any thread ---------------------------------------------------------------------------

    def submit(self, request: Request, emit: Emit) -> Job:
        job = Job(request, emit, self._cancel)
        with self._changed:
            if self._stopping:
                emit(Failed.of(_stopping()))
                return job
            if ahead := len(self._waiting) + (self._active is not None):
                emit(Queued(ahead=ahead))
            self._waiting.append(job)
            self._idle_since = None
            self._changed.notify_all()
        return job

    def documents(self, updates: DocumentUpdates) -> list[str]:
        return self._workspaces.take(updates)

    def snapshot(self) -> ServingStatus:
        workspaces = self._workspaces.status()
        with self._changed:
            return ServingStatus(
                model=self._loaded.status if self._loaded else None,
                active=int(self._active is not None),
                waiting=len(self._waiting),
                requests=self._ended,
                tokens_per_s=self._last_rate,
                acceptance=self._accepted / self._drafted if self._drafted else 0.0,
                workspaces=workspaces,
                idle_since=self._idle_since,
            )

    def unload(self) -> bool:
        with self._changed:
            if self._loaded is None and self._active is None:
                return False
            self._unload_wanted = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._unload_wanted or self._stopping)
            return self._unloaded

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            if self._active is not None:
                self._abort(self._active)
            self._changed.notify_all()
        self._thread.join()
        self._workspaces.close()

    def _cancel(self, job: Job) -> None:
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)
                job.emit(Failed.of(Cancelled("the request was cancelled")))
                self._ended += 1
                self._tell_places()
                self._end_of_job()
            elif job is self._active:
                self._abort(job)

    def _abort(self, job: Job) -> None:
        job.cancelled.set()
        if self._loaded is not None:
            self._loaded.engine.abort()

    # --- the engine's thread ------------------------------------------------------------------

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                last = self._serve(job)
            except CopydraftError as error:
                last = Failed.of(_stopping() if self._stopping else error)
            except Exception:
                _log.exception("a request failed: this is a bug")
                last = Failed.of(CopydraftError("copydraft has a bug", "see the log"))
            with self._changed:
                self._active = None
                self._ended += 1
                self._end_of_job()
            job.emit(last)
        with self._changed:
            waiting, self._waiting = self._waiting, deque()
        for job in waiting:
            job.emit(Failed.of(_stopping()))
        self._unload()

    def _next(self) -> Job | None:
        """The next request; unloads when asked to between requests. None: stop."""
        with self._changed:
            while True:
                if self._unload_wanted:
                    self._unloaded = self._loaded is not None
                    self._unload()
                    self._unload_wanted = False
                    self._changed.notify_all()
                if self._stopping:
                    return None
                if self._waiting:
                    break
                self._changed.wait()
            job = self._active = self._waiting.popleft()
            if self._loaded is not None:
                self._loaded.engine.resume()
            self._tell_places()
            return job

    def _tell_places(self) -> None:
        for ahead, waiting in enumerate(self._waiting, start=int(self._active is not None)):
            waiting.emit(Queued(ahead=ahead))

    def _serve(self, job: Job) -> Result | Failed:
        """Answer a request; the event that ends it."""
        loaded = self._ready(job)
        kind = kind_of(job.request)
        task = task_of(job.request, loaded)
        generation = job.request.generation
        earlier = self._answers.of(generation.workspace)
        search = self._workspaces.search(generation.workspace, format_of(job.request, loaded))

        def drafter(task: Task, costs: list[float]) -> Drafter:
            # Of places that match as long, the last counts: the prompt's.
            documents = [*earlier, *task.documents]
            return CopyDrafter(documents, Policy(self._experiences.of(kind, costs)), search)

        try:
            outcome = decode(generation, kind, task, loaded, self._config, job, drafter)
        except EngineProblem:
            # Whatever went wrong in llama.cpp, the next request starts from a fresh model.
            self._unload()
            raise
        self._account(outcome.stats)
        if self._config.record:
            self._keep(kind, task, outcome, generation.workspace)
        try:
            if outcome.error is not None:
                raise _stopping() if self._stopping else outcome.error
            stats = outcome.stats
            result = task.finish(
                outcome.text, stats.stop_reason, outcome.spans, stats, outcome.margins
            )
            self._answers.add(generation.workspace, job.request.region.path, outcome.tokens)
            return result
        except CopydraftError as error:
            return Failed.of(error, outcome.text)

    def _keep(self, kind: Kind, task: Task, outcome: Outcome, workspace: str) -> None:
        """Record the request; that the disk is full is no reason to lose the answer."""
        if not outcome.tokens:
            return
        trace = traces.record(
            kind, task.prompt, task.documents, outcome.tokens, outcome.top8, repo=workspace
        )
        try:
            traces.append(paths.traces_file(), trace)
        except DiskProblem as error:
            _log.warning("%s; %s", error.message, error.hint)

    def _ready(self, job: Job) -> loading.Loaded:
        """The engine with the model that a request asks for."""
        path = loading.wanted(job.request.generation.model, self._config)
        if self._loaded is not None and self._loaded.path == path:
            return self._loaded
        name = loading.display_name(path)
        if self._loaded is not None:
            job.emit(Notice(message=f"switching from {self._loaded.status.name} to {name}"))
            self._unload()

        def tell(message: str) -> None:
            job.emit(Notice(message=message))

        told = -1.0

        def progress(share: float) -> bool:
            nonlocal told
            # llama.cpp calls for every tensor; a person sees whole percents.
            if share > told and (share == 1.0 or share >= told + 0.01):
                told = share
                job.emit(Loading(model=name, share=share))
            return not job.cancelled.is_set()

        loaded = loading.load(path, self._config, self._costs, progress, tell)
        if self._config.index:
            self._workspaces.load(path)
        with self._changed:
            self._loaded = loaded
            if job.cancelled.is_set():
                raise Cancelled("the request was cancelled")
        return loaded

    def _unload(self) -> None:
        with self._changed:
            loaded, self._loaded = self._loaded, None
        if loaded is not None:
            self._workspaces.unload()
            self._answers.clear()
            self._experiences.save()
            loaded.engine.close()

    def _account(self, stats: RequestStats) -> None:
        with self._changed:
            self._last_rate = stats.tokens_per_s
            self._drafted += sum(stats.drafted.values())
            self._accepted += sum(stats.accepted.values())
        self._record(stats)

    def _end_of_job(self) -> None:
        if self._active is None and not self._waiting:
            self._idle_since = time.monotonic()
        self._changed.notify_all()


def _stopping() -> Cancelled:
    return Cancelled("the daemon is stopping", "run it again: the daemon starts by itself")
