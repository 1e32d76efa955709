"""Sessions out of a git history: the edits of one commit to several files, one after the other.

Turn k is asked of files in which the turns before it are done; its workspace is all other text of
the commit's parent. A file of sessions holds one JSON object a line: texts, each once, and
sessions that name them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from copydraft.errors import BadRequest
from copydraft.evaluation import mine
from copydraft.evaluation.edit_task import EditTask
from copydraft.evaluation.history import commits, contents, files
from copydraft.evaluation.traces import lines_of

_HINT = "scripts/mine_edits --sessions writes them"

_LEAST_TURNS = 2
_MOST_TURNS = 8
_FILE_BYTES = 200_000
"""Of a file of the workspace; larger ones are data."""


class Text(msgspec.Struct, frozen=True, tag="text", tag_field="type"):
    """The text of a file, by its name in git."""

    name: str
    text: str


class Session(msgspec.Struct, frozen=True, kw_only=True, tag="session", tag_field="type"):
    """One commit as a user might have asked for it, file by file."""

    repo: str
    commit: str
    turns: list[EditTask]
    files: dict[str, str]
    """The workspace before the first turn: names of texts by path."""


def mined(repository: Path, limit: int) -> Iterator[Text | Session]:
    """At most `limit` sessions, the oldest first, each behind the texts it is the first to
    name.

    Raises:
        BadRequest: git is missing, or there is no repository or no commit.
    """
    repo = repository.resolve().name
    known: set[str] = set()
    with contents(repository) as read:
        found = []
        for commit in commits(repository):
            turns = list(mine.edits_of(commit, read, repo))[:_MOST_TURNS]
            if len(turns) >= _LEAST_TURNS:
                found.append((commit, turns))
            if len(found) == limit:
                break
        for commit, turns in reversed(found):
            workspace: dict[str, str] = {}
            for path, name in files(repository, f"{commit.id}^").items():
                if name not in known:
                    text = mine.text_of(read, name, _FILE_BYTES)
                    if text is None:
                        continue
                    known.add(name)
                    yield Text(name, text)
                workspace[path] = name
            yield Session(repo=repo, commit=commit.id[:12], turns=turns, files=workspace)


def of_tasks(tasks: Sequence[EditTask]) -> tuple[dict[str, str], list[Session]]:
    """Each task as a session of its own; the other tasks' files of its repository are around it.

    A stand-in for a workspace, where no history is at hand: some files are of a later commit.
    """
    texts: dict[str, str] = {}
    by_repo: dict[str, dict[str, str]] = {}
    for task in tasks:
        name = f"{task.repo}:{task.path}"
        texts[name] = task.file
        by_repo.setdefault(task.repo, {})[task.path] = name
    return texts, [
        Session(repo=task.repo, commit=task.commit, turns=[task], files=by_repo[task.repo])
        for task in tasks
    ]


def read(path: Path) -> tuple[dict[str, str], list[Session]]:
    """Texts by name, and the sessions.

    Raises:
        FileProblem: the file cannot be read.
        BadRequest: a line is neither, a session names a text that is not there, or there is none.
    """
    texts: dict[str, str] = {}
    sessions = []
    for number, line in lines_of(path):
        try:
            record = msgspec.json.decode(line, type=Text | Session)
        except msgspec.DecodeError as error:
            raise BadRequest(f"{path}, line {number} is no session: {error}", _HINT) from error
        if isinstance(record, Text):
            texts[record.name] = record.text
        elif texts.keys() >= set(record.files.values()):
            sessions.append(record)
        else:
            raise BadRequest(f"{path}, line {number} names a text that is not there", _HINT)
    if not sessions:
        raise BadRequest(f"{path} holds no sessions", _HINT)
    return texts, sessions
