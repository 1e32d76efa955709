"""Updates of the index wait for each other, become one where they can, and outlive failures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from copydraft.errors import DiskProblem
from copydraft.index import updates
from copydraft.index.ingest import Changes
from copydraft.index.shards import CorpusKey
from copydraft.index.tokenizing import PLAIN
from copydraft.index.updates import UpdateQueue
from copydraft.index.worker import Job
from tests.fixtures.word_numbers import WordNumbers

A, B = Path("/w/a"), Path("/w/b")


class FakeWorker:
    """Notes its jobs; each waits until it is let go, and then does what `act` does."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.begun = threading.Semaphore(0)
        self.let_go = threading.Semaphore(0)
        self.act: Callable[[], None] = lambda: None

    def run(self, job: Job) -> Changes:
        self.jobs.append(job)
        self.begun.release()
        self.let_go.acquire()
        self.act()
        return Changes(0, 0, 0, 0)

    def stop(self) -> None:
        self.let_go.release()


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> FakeWorker:
    made = FakeWorker()
    monkeypatch.setattr(updates, "Worker", lambda: made)
    return made


@pytest.fixture
def queue(worker: FakeWorker) -> Iterator[UpdateQueue]:
    made = UpdateQueue(lambda key: None)
    yield made
    made.stop()


def job(*only: Path, root: str = "/w") -> Job:
    key = CorpusKey("workspace", root, PLAIN.name, "words")
    return Job(Path("index.db"), key, PLAIN, WordNumbers, only=list(only) or None)


def rest(queue: UpdateQueue, worker: FakeWorker) -> None:
    """Let all jobs go and wait until there are none."""
    worker.let_go.release(100)
    assert queue.settle(20)


def test_changes_that_wait_for_the_same_corpus_become_one_job(
    queue: UpdateQueue, worker: FakeWorker
) -> None:
    queue.put(job(A))
    worker.begun.acquire()
    for each in (job(A), job(B), job(A), job(root="/other")):
        queue.put(each)
    rest(queue, worker)
    assert worker.jobs == [job(A), job(A, B), job(root="/other")]


def test_all_of_a_corpus_takes_in_what_waits_for_parts_of_it(
    queue: UpdateQueue, worker: FakeWorker
) -> None:
    queue.put(job(A))
    worker.begun.acquire()
    for each in (job(A), job(), job(B)):
        queue.put(each)
    rest(queue, worker)
    assert worker.jobs == [job(A), job()]


def test_after_a_failure_everything_is_looked_at_again(
    queue: UpdateQueue, worker: FakeWorker, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise DiskProblem("the disk is full", "free some space")

    worker.act = fail
    queue.put(job(A))
    rest(queue, worker)
    queue.put(job(A))
    rest(queue, worker)
    worker.act = lambda: None
    for _ in range(2):
        queue.put(job(B))
        rest(queue, worker)
    assert worker.jobs == [job(A), job(), job(), job(B)]
    assert caplog.text.count("the disk is full; free some space") == 1


def test_a_bug_in_a_job_ends_nothing(
    queue: UpdateQueue, worker: FakeWorker, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise RuntimeError("no")

    worker.act = fail
    queue.put(job(A))
    rest(queue, worker)
    queue.put(job(B))
    rest(queue, worker)
    assert len(worker.jobs) == 2
    assert "an update of the index failed" in caplog.text


def test_stopping_ends_the_running_job_and_forgets_those_that_wait(
    queue: UpdateQueue, worker: FakeWorker
) -> None:
    queue.put(job(A))
    worker.begun.acquire()
    queue.put(job(root="/other"))
    queue.stop()
    assert worker.jobs == [job(A)]


def test_waiting_ends_where_work_does_not(queue: UpdateQueue, worker: FakeWorker) -> None:
    queue.put(job(A))
    worker.begun.acquire()
    assert not queue.settle(0.01)
