"""Two daemons, or a daemon and the command line, write one index: nothing is lost or mixed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from copydraft.errors import DiskProblem
from copydraft.index import ingest
from copydraft.index.cache import IndexCache
from copydraft.index.shards import CorpusKey
from copydraft.index.tokenizing import PLAIN
from copydraft.index.worker import Job, Worker
from tests.fixtures.word_numbers import WordNumbers

REPOSITORY = Path(__file__).parents[2]
WORDS = WordNumbers()


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))  # the child unpickles what is in the tests
    return tmp_path / "cache" / "index.db"


def job(database: Path, root: Path) -> Job:
    key = CorpusKey("workspace", str(root), PLAIN.name, WORDS.fingerprint)
    return Job(database, key, PLAIN, WordNumbers)


def run_at_once(*jobs: Job) -> None:
    """Each in a child of its own, as daemons do."""
    workers = [Worker() for _ in jobs]
    threads = [
        threading.Thread(target=worker.run, args=[each])
        for worker, each in zip(workers, jobs, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for worker in workers:
        worker.stop()


def contents(job: Job) -> dict[str, list[int]]:
    return IndexCache(job.database).run(lambda db: ingest.contents(db, job.key))


def write(root: Path, *names: str) -> dict[str, list[int]]:
    """Files, and what an index of them holds."""
    root.mkdir()
    for name in names:
        (root / name).write_text(f"text of {name}")
    return {name: WORDS.encode_one(f"text of {name}") for name in names}


def test_two_that_index_one_directory_at_once_equal_one_that_does(
    database: Path, tmp_path: Path
) -> None:
    expected = write(tmp_path / "a", *(f"f{number}" for number in range(200)))
    one = job(database, tmp_path / "a")
    run_at_once(one, one)
    assert contents(one) == expected


def test_two_that_index_two_directories_at_once_do_not_mix_them(
    database: Path, tmp_path: Path
) -> None:
    first, second = write(tmp_path / "a", "one", "two"), write(tmp_path / "b", "two", "three")
    jobs = job(database, tmp_path / "a"), job(database, tmp_path / "b")
    run_at_once(*jobs)
    assert [contents(each) for each in jobs] == [first, second]


def test_an_index_that_is_cleared_between_two_updates_is_made_again(
    database: Path, tmp_path: Path
) -> None:
    expected = write(tmp_path / "a", "one", "two")
    one = job(database, tmp_path / "a")
    run_at_once(one)
    IndexCache(database).remove()
    assert contents(one) == {}
    run_at_once(one)
    assert contents(one) == expected


def test_a_child_that_ends_by_itself_is_told_with_its_status(
    database: Path, tmp_path: Path
) -> None:
    write(tmp_path / "a", "one")
    worker = Worker()
    with pytest.raises(DiskProblem, match=r"before its work was done \(exit status 1\)"):
        worker.run(job(database, tmp_path / "a")._replace(load=WORDS.encode_many))  # type: ignore[arg-type]
    worker.stop()
