"""Commits and file contents out of a local git repository, by the git command."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from copydraft.errors import BadRequest

_FILE_MODES = ("100644", "100755")
_COMMIT = b"\x01"

# Nothing is asked, fetched or rewritten, and no program that the repository names is run.
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
_LOG = (
    "log",
    "--no-show-signature",
    "--no-merges",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--diff-filter=M",
    "--raw",
    "--no-abbrev",
    "-z",
    "--format=%x01%H%x00%s",
)


class Modified(NamedTuple):
    """A file that a commit changed: the names of its contents before and after."""

    path: str
    before: str
    after: str


@dataclass
class Commit:
    """A commit that is no merge; `files` are those that were there before and after."""

    id: str
    subject: str
    files: list[Modified] = field(default_factory=list)


def commits(repository: Path) -> Iterator[Commit]:
    """All commits behind the one that is checked out, the newest first.

    Raises:
        BadRequest: git is missing, or there is no repository or no commit.
    """
    _check(repository)
    with _git(repository, *_LOG) as process:
        assert process.stdout is not None
        commit = None
        fields = _fields(process.stdout)
        for text in fields:
            if text.startswith(_COMMIT):
                if commit:
                    yield commit
                commit = Commit(text[1:].decode(), next(fields).decode("utf-8", "replace"))
            elif commit and text.startswith(b":"):
                old_mode, new_mode, before, after, _ = text[1:].decode().split(" ")
                path = os.fsdecode(next(fields))
                if old_mode in _FILE_MODES and new_mode in _FILE_MODES:
                    commit.files.append(Modified(path, before, after))
        if commit:
            yield commit


def files(repository: Path, commit: str) -> dict[str, str]:
    """The regular files of a commit: the names of their contents, by path.

    Raises:
        BadRequest: git is missing.
    """
    found: dict[str, str] = {}
    with _git(repository, "ls-tree", "-r", "-z", "--full-tree", commit) as process:
        assert process.stdout is not None
        for entry in _fields(process.stdout):
            about, path = entry.split(b"\t", 1)
            mode, _, name = about.decode().split(" ")
            if mode in _FILE_MODES:
                found[os.fsdecode(path)] = name
    return found


class Contents:
    """File contents by name, from one git process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._ask = process.stdin
        self._answer = process.stdout

    def read(self, name: str, most: int) -> bytes | None:
        """The bytes; None if there are more than `most`, or if they are not in the repository."""
        self._ask.write(name.encode() + b"\n")
        self._ask.flush()
        *found, size = self._answer.readline().split()
        if len(found) < 2:
            return None
        left = int(size) + 1  # a newline follows
        data = self._answer.read(left) if left <= most + 1 else None
        while data is None and left:
            left -= len(self._answer.read(min(left, 1 << 20)))
        return data[:-1] if data is not None else None


@contextmanager
def contents(repository: Path) -> Iterator[Contents]:
    """Open a repository's contents.

    Raises:
        BadRequest: git is missing.
    """
    with _git(repository, "cat-file", "--batch") as process:
        yield Contents(process)


def _check(repository: Path) -> None:
    """Ask for the commit that is checked out.

    Raises:
        BadRequest: there is none.
    """
    with _git(repository, "rev-parse", "--verify", "HEAD") as process:
        _, reason = process.communicate()
    if process.returncode:
        last = reason.decode("utf-8", "replace").strip().splitlines()[-1]
        raise BadRequest(
            f"git cannot read {repository}: {last}", "name the directory of a git repository"
        )


@contextmanager
def _git(repository: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    # A hook's GIT_DIR would name another repository.
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        process = subprocess.Popen(
            ["git", "-C", str(repository), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=inherited | _ENVIRONMENT,
        )
    except FileNotFoundError as error:
        raise BadRequest("git is not installed", "install git") from error
    with process:
        try:
            yield process
        finally:
            process.kill()


def _fields(stream: IO[bytes]) -> Iterator[bytes]:
    """The NUL-terminated fields; git puts a newline before some of them."""
    rest = b""
    while chunk := stream.read(1 << 16):
        *whole, rest = (rest + chunk).split(b"\0")
        yield from (text.lstrip(b"\n") for text in whole)
