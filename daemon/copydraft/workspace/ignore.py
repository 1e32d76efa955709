"""What git ignores: nested .gitignore files, .git/info/exclude and the user's own rules."""

from __future__ import annotations

import codecs
import os
import stat
import subprocess
import time
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from copydraft.workspace.patterns import EVERYTHING, Pattern, of_bytes, parse

_LARGEST_BYTES = 1 << 20
"""No one wrote a longer list of patterns: it is not read, and may ignore everything."""
_PATIENCE_S = 5.0
_KEPT_S = 10.0
"""To ask git takes 5 ms, and an editor may open hundreds of documents at once."""


class _Rules(NamedTuple):
    """Patterns of one file. Paths are "" or end in /."""

    base: str
    """From the scanned root to the file's directory, where that is the root or below."""
    prefix: str
    """From the file's directory to the scanned root, where the file is above."""
    patterns: list[Pattern]
    """The one that decides first."""


class Ignored:
    """The rules that hold in one directory; `below` gives those of a directory in it."""

    def __init__(self, rules: tuple[_Rules, ...]) -> None:
        # Weakest first: git lets the deepest file, and in it the last pattern, decide.
        self._rules = rules

    def below(self, directory: Path, base: str) -> Ignored:
        """With the .gitignore of `directory`, which is `base` ("" or ending in /) from the root.

        And with what else holds in it where it is a repository.
        """
        found = _of_repository(directory) if _is_repository(directory) else []
        found.append(_of_directory(directory))
        rules = [_Rules(base, "", patterns) for patterns in found if patterns]
        return Ignored((*self._rules, *rules)) if rules else self

    def __call__(self, path: str) -> bool:
        """Whether the path from the scanned root is ignored; that of a directory ends in /."""
        is_directory = path.endswith("/")
        for rules in reversed(self._rules):
            way = of_bytes(os.fsencode(rules.prefix + path[len(rules.base) :].removesuffix("/")))
            name = way.rpartition("/")[2]
            for pattern in rules.patterns:
                if pattern.matches(way, name, is_directory=is_directory):
                    return pattern.ignores
        return False


NOTHING_IGNORED = Ignored(())


def rules_above(root: Path) -> Ignored:
    """What is said of `root` above it: by the user, the repository and each .gitignore there."""
    top = next((each for each in (root, *root.parents) if _is_repository(each)), root)
    if top == root:
        return NOTHING_IGNORED
    above = [each for each in reversed(root.parents) if each == top or top in each.parents]
    found = [(top, patterns) for patterns in _of_repository(top)]
    found += [(directory, _of_directory(directory)) for directory in above]
    ways = [(f"{root.relative_to(directory).as_posix()}/", rules) for directory, rules in found]
    return Ignored(tuple(_Rules("", way, rules) for way, rules in ways))


def is_ignored(directory: Path) -> bool:
    """Whether the repository that a directory is in ignores it, or one above it."""
    top = next((each for each in directory.parents if _is_repository(each)), directory)
    base, rules = "", NOTHING_IGNORED.below(top, "")
    for part in directory.relative_to(top).parts:
        base += f"{part}/"
        if rules(base):
            return True
        rules = rules.below(top / base, base)
    return False


def _is_repository(directory: Path) -> bool:
    try:
        return (directory / ".git").exists()
    except OSError:  # not for us to look into
        return False


def _of_repository(top: Path) -> list[list[Pattern]]:
    """What the user has ignored in all repositories, then what only this copy of one ignores."""
    users_file = _users_file(top, int(time.monotonic() / _KEPT_S))
    return [_patterns(users_file), _patterns(_exclude_file(top / ".git"))]


def _of_directory(directory: Path) -> list[Pattern]:
    """The patterns of its .gitignore, which to git is none if it is a link."""
    return _patterns(directory / ".gitignore", follow_links=False)


def _patterns(path: Path, *, follow_links: bool = True) -> list[Pattern]:
    """Those of a file, the last one first; none if it cannot be read."""
    try:
        status = path.stat(follow_symlinks=follow_links)
        if not stat.S_ISREG(status.st_mode):
            return []
        if status.st_size > _LARGEST_BYTES:
            return [EVERYTHING]
        text = of_bytes(path.read_bytes().removeprefix(codecs.BOM_UTF8))
    except OSError:
        return []
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [pattern for line in reversed([*lines]) if (pattern := parse(line))]


@lru_cache(maxsize=64)
def _users_file(top: Path, _moment: int) -> Path:
    """`core.excludesFile`, as git finds it for the repository at `top`, or its usual place.

    At one moment it is asked for once.
    """
    # What a hook of another repository has set would name that one.
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG")
    }
    asked = ["git", "config", "--type=path", "--null", "--get", "core.excludesFile"]
    try:
        named = subprocess.run(
            asked,
            cwd=top,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=_PATIENCE_S,
        )
    except (OSError, subprocess.SubprocessError):  # it is not set, or there is no git
        settings = os.environ.get("XDG_CONFIG_HOME")
        return Path(settings or "~/.config", "git", "ignore").expanduser()
    return top / os.fsdecode(named.stdout.removesuffix(b"\0"))


def _exclude_file(git: Path) -> Path:
    """`info/exclude` of a repository; in a worktree, `.git` is a file that names the place."""
    try:
        if git.is_file():
            own = git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()
            common = own / "commondir"
            git = own / common.read_text("utf-8").strip() if common.is_file() else own
    except (OSError, UnicodeDecodeError):
        pass
    return git / "info" / "exclude"
