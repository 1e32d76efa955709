"""Requests in turn, one model at a time: the thread that owns the engine.

Implements `service.Service`. Requests run in the order of `waiting`; one for another model waits
for its turn like any other, then the model is switched and the client told.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from copydraft import paths, traces
from copydraft.config import Config
from copydraft.drafting.drafter import CopyDrafter, Drafter
from copydraft.drafting.policy import Policy
from copydraft.errors import Cancelled, CopydraftError, DiskProblem, EngineProblem
from copydraft.protocol import (
    DocumentUpdates,
    EditRequest,
    Failed,
    Loading,
    Notice,
    PrepareRequest,
    RequestStats,
    Result,
)
from copydraft.serving import loading
from copydraft.serving.decoding import Outcome, decode
from copydraft.serving.learned import EarlierAnswers, Experiences
from copydraft.serving.preparing import read_ahead
from copydraft.serving.service import CostStore, Emit, ProfileStore, Request, ServingStatus
from copydraft.serving.tasks import Question, Task, format_of, kind_of, known_part, path_of, task_of
from copydraft.serving.waiting import Job, Waiting, gave_way
from copydraft.serving.workspaces import Workspaces

if TYPE_CHECKING:
    from copydraft.protocol import Kind
    from copydraft.workspace.edits import RecentEdit

_log = logging.getLogger(__name__)


_RECENT_COMPLETIONS = 4
"""Kept to draft from: the next keystroke mostly asks for the rest of the latest one."""

_LEAD_KEPT = 32
"""Tokens kept from before a completion, so that it is found again."""


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
        self._waiting = Waiting()
        self._active: Job | None = None
        self._loaded: loading.Loaded | None = None
        self._unload_wanted = self._unloaded = self._stopping = False
        self._ended = 0
        self._idle_since: float | None = time.monotonic()
        self._last_rate = 0.0
        self._drafted = self._accepted = 0
        self._experiences = Experiences(profiles)
        self._answers = EarlierAnswers()
        self._completions = EarlierAnswers(_RECENT_COMPLETIONS)
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
            for outdated in self._waiting.add(job, running=int(self._active is not None)):
                outdated.emit(gave_way())
                self._ended += 1
            if self._active is not None and self._active.gives_way_to(job):
                self._push_aside(self._active, job)
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
            if self._waiting.remove(job, running=int(self._active is not None)):
                job.emit(Failed.of(Cancelled("the request was cancelled")))
                self._ended += 1
                self._end_of_job()
            elif job is self._active:
                self._abort(job)

    def _push_aside(self, job: Job, other: Job) -> None:
        """End the running job for another; a model that both want is loaded to the end."""
        job.gave_way = True
        same_model = job.request.generation.model == other.request.generation.model
        if self._loaded is not None or not same_model:
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
                if isinstance(error, EngineProblem):
                    # Whatever went wrong in llama.cpp, the next request gets a fresh model.
                    self._unload()
                last = self._failure(job, error)
            except Exception:
                _log.exception("a request failed: this is a bug")
                # What the model's memory holds by now is not known.
                self._unload()
                last = Failed.of(CopydraftError("copydraft has a bug", "see the log"))
            with self._changed:
                self._active = None
                self._ended += 1
                self._end_of_job()
            job.emit(last)
        with self._changed:
            waiting = self._waiting.drain()
        for job in waiting:
            job.emit(Failed.of(_stopping()))
        self._unload()

    def _next(self) -> Job | None:
        """The next request; unloads when asked to between requests. None: stop."""
        while True:
            with self._changed:
                while not self._unload_wanted:
                    if self._stopping:
                        return None
                    if job := self._waiting.take():
                        self._active = job
                        if self._loaded is not None:
                            self._loaded.engine.resume()
                        return job
                    self._changed.wait()
                self._unloaded = self._loaded is not None
            # Without the lock: it waits for threads of the index, and status is asked meanwhile.
            self._unload()
            with self._changed:
                self._unload_wanted = False
                self._changed.notify_all()

    def _failure(self, job: Job, error: CopydraftError, partial: str = "") -> Failed:
        """The event that ends a job which `error` ended."""
        if isinstance(error, Cancelled) and job.gave_way and not self._stopping:
            return gave_way()
        return Failed.of(_stopping() if self._stopping else error, partial)

    def _serve(self, job: Job) -> Result | Failed:
        """Answer a request; the event that ends it."""
        loaded = self._ready(job)
        request = job.request
        edits: Sequence[RecentEdit] = ()
        if isinstance(request, EditRequest) or (
            isinstance(request, PrepareRequest) and request.kind == "edit"
        ):
            edits = self._workspaces.recent_edits(request.generation.workspace)
        if isinstance(request, PrepareRequest):
            return read_ahead(known_part(request, loaded, edits), loaded.engine, job)
        return self._answer(job, request, task_of(request, loaded, edits), loaded)

    def _answer(
        self, job: Job, request: Question, task: Task, loaded: loading.Loaded
    ) -> Result | Failed:
        """Have the model answer a request; the event that ends it."""
        kind, generation, path = kind_of(request), request.generation, path_of(request)
        for notice in task.notices:
            job.emit(Notice(message=notice))
        earlier = self._answers.of(generation.workspace)
        if kind == "complete":
            earlier += self._completions.of(generation.workspace)
        search = self._workspaces.search(generation.workspace, format_of(request, loaded))
        if search is not None and kind == "complete":
            # Its own document goes on at the place with what stands behind it: no completion.
            search = search.without(_below(generation.workspace, path))

        def drafter(task: Task, costs: list[float]) -> Drafter:
            # Of places that match as long, the last counts: the prompt's.
            documents = [*earlier, *task.documents]
            policy = Policy(self._experiences.of(kind, costs))
            if task.lead is None:
                return CopyDrafter(documents, policy, search, quotations=task.quotations)
            return CopyDrafter(documents, policy, search, output=task.lead)

        outcome = decode(generation, kind, task, loaded, self._config, job, drafter)
        self._account(outcome.stats)
        if self._config.record:
            self._keep(kind, task, outcome, generation.workspace)
        if outcome.error is not None:
            # Raised, it would hold this frame, the frame it, and both the unloaded model's memory.
            return self._failure(job, outcome.error, outcome.text)
        stats = outcome.stats
        try:
            result = task.finish(
                outcome.text, stats.stop_reason, outcome.spans, stats, outcome.margins
            )
            if task.lead is None:
                self._answers.add(generation.workspace, path, outcome.tokens)
            else:
                tokens = [*task.lead.tokens[-_LEAD_KEPT:], *outcome.tokens]
                self._completions.add(generation.workspace, path, tokens)
            return result
        except CopydraftError as error:
            return self._failure(job, error, outcome.text)

    def _keep(self, kind: Kind, task: Task, outcome: Outcome, workspace: str) -> None:
        """Record the request; that the disk is full is no reason to lose the answer."""
        if not outcome.tokens:
            return
        trace = traces.record(
            kind,
            task.prompt,
            task.documents,
            task.quotations,
            outcome.tokens,
            outcome.top8,
            margins=outcome.margins,
            repo=workspace,
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
        with self._changed:
            self._loaded = loaded
        if self._config.index:
            self._workspaces.load(path, escaped=loaded.escapes_calls)
        with self._changed:
            if job.cancelled.is_set() or job.gave_way:
                raise Cancelled("the request was cancelled")
        return loaded

    def _unload(self) -> None:
        with self._changed:
            loaded, self._loaded = self._loaded, None
        if loaded is not None:
            self._workspaces.unload()
            self._answers.clear()
            self._completions.clear()
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


def _below(root: str, path: str) -> str:
    """A document's path as its workspace names it."""
    absolute = PurePath(path)
    return absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else path


def _stopping() -> Cancelled:
    return Cancelled("the daemon is stopping", "run it again: the daemon starts by itself")
