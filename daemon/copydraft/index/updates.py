"""Corpora that wait to be brought up to date, one after the other, by the indexing process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from copydraft.errors import CopydraftError
from copydraft.index.worker import Job, Worker

if TYPE_CHECKING:
    from copydraft.index.shards import CorpusKey

_log = logging.getLogger(__name__)

_IDLE_S = 60.0
"""Without a job for so long, the process ends, and its tokenizer's memory is free."""


class UpdateQueue:
    """A thread that runs jobs in the child. What waits for the same corpus becomes one job."""

    def __init__(self, done: Callable[[CorpusKey], None]) -> None:
        """`done` is called in the queue's thread after each job, whether it went well or not."""
        self._done = done
        self._worker = Worker()
        self._waiting: dict[CorpusKey, Job] = {}
        self._unfinished: set[CorpusKey] = set()
        self._told: set[str] = set()
        self._busy: CorpusKey | None = None
        self._stopped = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="index-queue", daemon=True)
        self._thread.start()

    @property
    def worker(self) -> Worker:
        return self._worker

    def put(self, job: Job) -> None:
        """Do a job soon; with one for the same corpus that waits already, it becomes one."""
        with self._changed:
            waiting = self._waiting.get(job.key)
            self._waiting[job.key] = job if waiting is None else _joined(waiting, job)
            self._changed.notify_all()

    def busy(self, key: CorpusKey) -> bool:
        """Whether a job for the corpus runs or waits."""
        with self._changed:
            return key in self._waiting or key == self._busy

    def settle(self, timeout: float) -> bool:
        """Wait until nothing is left to do; False if that takes longer than `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and self._busy is None, timeout)

    def stop(self) -> None:
        """End the running job, which keeps what it wrote, and forget those that wait."""
        with self._changed:
            self._stopped = True
            self._waiting.clear()
            self._changed.notify_all()
        while self._thread.is_alive():
            self._worker.stop()  # again, if the thread was about to begin a job
            self._thread.join(0.1)
        self._worker.stop()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._worker.run(job)
                self._unfinished.discard(job.key)
            except CopydraftError as error:
                # The next change is a reason to look at everything again.
                self._unfinished.add(job.key)
                self._tell(error)
            except Exception:
                self._unfinished.add(job.key)
                _log.exception("an update of the index failed")
            finally:
                self._finish(job.key)

    def _next(self) -> Job | None:
        with self._changed:
            while not self._waiting and not self._stopped:
                if not self._changed.wait(_IDLE_S):
                    self._worker.stop()
            if self._stopped:
                return None
            key = next(iter(self._waiting))
            job = self._waiting.pop(key)
            self._busy = key
            return job._replace(only=None) if key in self._unfinished else job

    def _finish(self, key: CorpusKey) -> None:
        try:
            self._done(key)
        except Exception:
            _log.exception("an updated index was not taken in")
        with self._changed:
            self._busy = None
            self._changed.notify_all()

    def _tell(self, error: CopydraftError) -> None:
        if error.message not in self._told and not self._stopped:
            self._told.add(error.message)
            _log.warning("%s; %s", error.message, error.hint)


def _joined(one: Job, other: Job) -> Job:
    only: Iterable[Path] | None = None
    if one.only is not None and other.only is not None:
        only = dict.fromkeys((*one.only, *other.only))
    return other._replace(only=None if only is None else list(only))
