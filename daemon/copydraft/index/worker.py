"""Indexing in a process of its own, so that no pass of the model waits for Python's lock.

The child reads jobs on stdin and answers on stdout, each a pickle; the pipes are its parent's
alone. It ends when they close. `python -m copydraft.index.worker` is the child.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from copydraft.errors import CopydraftError, DiskProblem
from copydraft.index import ingest
from copydraft.index.cache import IndexCache
from copydraft.index.ingest import Changes
from copydraft.index.shards import CorpusKey
from copydraft.index.tokenizing import BulkTokenizer, Printing
from copydraft.workspace.scanner import Scanner

if TYPE_CHECKING:
    from collections.abc import Iterator

LoadTokenizer = Callable[[], BulkTokenizer]
"""Must be picklable: a function of a module, or a `functools.partial` of one."""

_ENDING_S = 5.0
"""A child that closed its pipe is about to end, and its status tells why."""


class Job(NamedTuple):
    """One call of `ingest.update`."""

    database: Path
    key: CorpusKey
    printing: Printing
    load: LoadTokenizer
    suffixes: tuple[str, ...] = ()
    library: bool = False
    only: list[Path] | None = None


def run(job: Job, tokenizer: BulkTokenizer, report: ingest.Report = lambda _: None) -> Changes:
    """Do a job in this process.

    Raises:
        DiskProblem: the index cannot be read or written.
        FileProblem: the root cannot be scanned.
    """
    scanner = Scanner(Path(job.key.root), suffixes=job.suffixes, library=job.library)
    return ingest.update(
        IndexCache(job.database),
        job.key,
        scanner,
        tokenizer,
        job.printing,
        only=job.only,
        report=report,
    )


class Worker:
    """The child process, started when there is a job. For one thread."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    def run(self, job: Job) -> Changes:
        """Do a job in the child; returns when it is done.

        Raises:
            CopydraftError: what the job raised.
            DiskProblem: the child ended before its work was done (killed, out of memory).
        """
        child = self._started()
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            pickle.dump(job, child.stdin)
            child.stdin.flush()
            answer = pickle.load(child.stdout)  # noqa: S301  # from our own child
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_ENDING_S)
            self.stop()
            raise DiskProblem(
                f"the indexing process ended before its work was done ({_ending(child)})",
                "it is started again with the next change; see `copydraft daemon logs`",
            ) from error
        if isinstance(answer, CopydraftError):
            raise answer
        assert isinstance(answer, Changes)
        return answer

    def stop(self) -> None:
        """End the child, whatever it does; what it wrote so far is kept. From any thread."""
        child, self._child = self._child, None
        if child is not None:
            child.terminate()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                assert pipe is not None
                with contextlib.suppress(OSError):
                    pipe.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
            self.stop()
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "copydraft.index.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        return self._child


def _ending(child: subprocess.Popen[bytes]) -> str:
    status = child.returncode
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def _jobs(pipe: BinaryIO) -> Iterator[Job]:
    while True:
        try:
            yield pickle.load(pipe)  # noqa: S301  # from our own parent
        except EOFError:
            return


def _give_way() -> None:
    """Run only while no one else wants the processor: decoding goes first."""
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(19)


def main() -> None:
    """Be the child: jobs in, answers out, until stdin ends."""
    _give_way()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the parent
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get among the answers
    tokenizers: dict[bytes, BulkTokenizer] = {}
    for job in _jobs(sys.stdin.buffer):
        name = pickle.dumps(job.load)
        try:
            if name not in tokenizers:
                tokenizers = {name: job.load()}
            answer: Changes | CopydraftError = run(job, tokenizers[name])
        except CopydraftError as error:
            answer = error
        try:
            pickle.dump(answer, answers)
            answers.flush()
        except BrokenPipeError:
            return


if __name__ == "__main__":
    main()
