"""The files that replay and learning read: traces, edit tasks or sessions, and what is around them.

Edit tasks have no workspace of their own; it is made of the other tasks' files, if asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from copydraft.engine.bulk import index_tokenizer
from copydraft.errors import BadRequest
from copydraft.evaluation import session_requests, sessions, traces
from copydraft.evaluation.drafters import SearchOf, no_search
from copydraft.evaluation.edit_task import EditTask
from copydraft.evaluation.session_requests import Request
from copydraft.evaluation.sessions import Session
from copydraft.evaluation.surroundings import Printer
from copydraft.evaluation.traces import Vocabulary, lines_of
from copydraft.index.printings import printing_of
from copydraft.index.search import Search
from copydraft.index.segment import Segment
from copydraft.protocol import EditFormat
from copydraft.traces import Trace

MOST_GLOBAL_TOKENS = 8_000_000
"""Of the global corpus, in each printing: 16 bytes of memory a token while it is sorted."""


class Replayable(NamedTuple):
    """Traces, and what to draft them from besides themselves."""

    traces: list[Trace]
    search_of: SearchOf


def load(
    files: Sequence[Path],
    gguf: Path | None,
    *,
    workspace: bool,
    libraries: Sequence[Path],
    agent: bool = False,
) -> Replayable:
    """What the files hold; with `agent`, edit tasks are a coding agent's turns.

    Sessions come with their workspaces, and with code below `libraries`; with `workspace`, edit
    tasks do so, too, but no turns.

    Raises:
        FileProblem: a file cannot be read.
        BadRequest: a file holds something else, or needs a tokenizer and there is no `gguf`.
        ModelProblem: `gguf` cannot be read.
    """
    loaded: list[Trace] = []
    searches: dict[str, Search] = {}
    for file in files:
        if not (holds_sessions(file) or (workspace and not agent and holds_tasks(file))):
            loaded += traces.read(file, gguf, agent=agent)
            continue
        if gguf is None:
            raise BadRequest(
                f"{file} holds edits, which need a tokenizer", "name a model file with --gguf"
            )
        found = Surrounded(gguf, *sessions_of(file), libraries).requests("fence")
        loaded += [request.trace for request in found]
        searches |= {request.trace.name: request.search() for request in found}
    if not searches:
        return Replayable(loaded, no_search)
    return Replayable(loaded, lambda trace: searches.get(trace.name))


def holds_sessions(path: Path) -> bool:
    """Whether a file is one of sessions: then its records say of which type they are.

    Raises:
        FileProblem: the file cannot be read.
    """
    return _begins_with(path, "type")


def holds_tasks(path: Path) -> bool:
    """Whether a file is one of edit tasks.

    Raises:
        FileProblem: the file cannot be read.
    """
    return _begins_with(path, "after")


def _begins_with(path: Path, field: str) -> bool:
    """Whether the first record has the field."""
    for _, line in lines_of(path):
        try:
            return field in msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        except msgspec.DecodeError:
            return False
    return False


def sessions_of(path: Path) -> tuple[dict[str, str], list[Session]]:
    """The sessions of a file, or its edit tasks as such; and their texts.

    Raises:
        FileProblem: the file cannot be read.
        BadRequest: it holds neither.
    """
    if holds_sessions(path):
        return sessions.read(path)
    return sessions.of_tasks(traces.read_tasks(path))


class Surrounded:
    """Sessions, to be asked in any format, with all that is around them."""

    def __init__(
        self,
        gguf: Path,
        texts: dict[str, str],
        sessions: Sequence[Session],
        libraries: Sequence[Path],
    ) -> None:
        """Read the vocabulary of `gguf`.

        Raises:
            ModelProblem: it cannot be read.
        """
        self._vocabulary = Vocabulary(gguf)
        self._tokenizer = index_tokenizer(gguf)
        self._texts = texts
        self._sessions = sessions
        self._roots = libraries
        self._printed: dict[str, tuple[Printer, list[Segment]]] = {}

    def requests(self, edit_format: EditFormat) -> list[Request]:
        """All turns in an answer format, with corpora that are printed as the daemon has them.

        Raises:
            FileProblem: a directory of the libraries cannot be listed.
        """
        printing = printing_of(edit_format, escaped=self._vocabulary.escapes_calls)
        if printing.name not in self._printed:
            printer = Printer(self._tokenizer, printing)
            segments = printer.libraries(self._roots, MOST_GLOBAL_TOKENS)
            self._printed[printing.name] = printer, segments
        printer, segments = self._printed[printing.name]
        return list(
            session_requests.requests(
                self._texts, self._sessions, self._vocabulary, edit_format, printer, segments
            )
        )

    def raw(self, trace: Trace, task: EditTask) -> Trace:
        """The trace with its region as it stands in the file."""
        return self._vocabulary.raw(trace, task)
