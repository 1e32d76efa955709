"""Kills the indexing process at random points: the database must open, and a rescan must mend it.

Each round changes files, lets the child index them, kills it with SIGKILL after a random time,
and looks: SQLite's own check, every checksum, every document as its file was once.
Every few rounds a rescan must equal a fresh index.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from copydraft.errors import DiskProblem
from copydraft.index import ingest
from copydraft.index.cache import IndexCache
from copydraft.index.shards import CorpusKey
from copydraft.index.tokenizing import PLAIN
from copydraft.index.worker import Job, Worker, run
from tests.fixtures.word_numbers import WordNumbers

_FILES = 120
_WORDS = 2000
_RESCAN_EVERY = 5
_TOLD_EVERY = 20


def tokenizer() -> WordNumbers:
    """The child's tokenizer; it also makes the child write in many small steps."""
    ingest._BATCH_FILES = 3
    return WordNumbers()


def change_files(root: Path, chance: random.Random) -> None:
    """Write, change and delete some of the files."""
    for _ in range(_FILES // 3):
        path = root / f"d{chance.randrange(5)}" / f"f{chance.randrange(_FILES // 5)}.txt"
        path.parent.mkdir(exist_ok=True)
        if chance.random() < 0.1:
            path.unlink(missing_ok=True)
        else:
            path.write_text(" ".join(f"w{chance.randrange(500)}" for _ in range(_WORDS)))


def expected(root: Path) -> dict[str, list[int]]:
    """What a fresh index of the files holds."""
    words = WordNumbers()
    return {
        path.relative_to(root).as_posix(): words.encode_one(path.read_text())
        for path in root.rglob("*.txt")
    }


def killed(job: Job, after_s: float) -> float | None:
    """Run a job in a child and kill it; how long it took, None if it was killed before its end."""
    worker = Worker()
    worker.run(job._replace(only=[]))  # the child is ready: what is timed is indexing
    assert worker.pid is not None
    timer = threading.Timer(after_s, os.kill, (worker.pid, signal.SIGKILL))
    timer.start()
    begun = time.monotonic()
    try:
        worker.run(job)
        return time.monotonic() - begun
    except DiskProblem as error:
        if "SIGKILL" not in error.message:
            raise
        return None
    finally:
        timer.cancel()
        timer.join()
        worker.stop()


def check(job: Job, versions: dict[str, list[list[int]]]) -> dict[str, list[int]]:
    """What the database has. Fails unless it is whole and each document was its file's once."""
    cache = IndexCache(job.database)
    removed: list[None] = []
    cache.remove = lambda: removed.append(None)  # type: ignore[method-assign]
    verdict = cache.run(lambda db: db.execute("PRAGMA integrity_check").fetchall())
    found = cache.run(lambda db: ingest.contents(db, job.key))
    assert verdict == [("ok",)], verdict
    assert not removed, "the database was damaged"
    for path, tokens in found.items():
        assert tokens in versions[path], f"{path} was never like this"
    return found


def kill_rounds(times: int, seed: int) -> dict[str, int]:
    """Kill `times` times; how many kills came before the child was done, and amid its writing."""
    chance = random.Random(seed)
    early = amid = rescans = 0
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "workspace")
        root.mkdir()
        key = CorpusKey("workspace", str(root), PLAIN.name, WordNumbers().fingerprint)
        job = Job(Path(scratch, "index.db"), key, PLAIN, tokenizer)
        change_files(root, chance)
        worker = Worker()
        worker.run(job._replace(only=[]))
        begun = time.monotonic()
        worker.run(job)
        whole_s = time.monotonic() - begun
        worker.stop()
        before = check(job, {path: [tokens] for path, tokens in expected(root).items()})
        versions = {path: [tokens] for path, tokens in before.items()}
        for number in range(1, times + 1):
            change_files(root, chance)
            fresh = expected(root)
            for path, tokens in fresh.items():
                versions.setdefault(path, []).append(tokens)
            took = killed(job, chance.uniform(0.0, 1.2) * whole_s)
            early += took is None
            # The first run reads more files, and other work on the machine comes and goes.
            whole_s = whole_s if took is None else took
            after = check(job, versions)
            amid += after not in (before, fresh)
            before = after
            if number % _TOLD_EVERY == 0:
                print(f"{number} of {times} kills", file=sys.stderr, flush=True)
            if number % _RESCAN_EVERY == 0 or number == times:
                run(job, WordNumbers())
                cache = IndexCache(job.database)
                assert cache.run(lambda db: ingest.contents(db, key)) == fresh, "a rescan differs"
                rescans += 1
                before = fresh
                versions = {path: [tokens] for path, tokens in fresh.items()}
    return {"kills": times, "before_the_end": early, "amid_writing": amid, "rescans": rescans}


def main() -> None:
    parser = argparse.ArgumentParser("kill-indexing", description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(json.dumps(kill_rounds(arguments.times, arguments.seed)))
