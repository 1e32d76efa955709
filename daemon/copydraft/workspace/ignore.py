"""What git ignores: nested .gitignore files and .git/info/exclude, as git reads them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pathspec import GitIgnoreSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST_BYTES = 1 << 20
"""No one wrote a longer list of patterns."""


class _Rules(NamedTuple):
    """Patterns of one file. Paths are "" or end in /."""

    base: str
    """From the scanned root to the file's directory, where that is the root or below."""
    prefix: str
    """From the file's directory to the scanned root, where the file is above."""
    spec: GitIgnoreSpec


class Ignored:
    """The rules that hold in one directory; `below` gives those of a directory in it."""

    def __init__(self, rules: tuple[_Rules, ...]) -> None:
        # Weakest first: git lets the deepest file, and in it the last pattern, decide.
        self._rules = rules

    def below(self, directory: Path, base: str) -> Ignored:
        """With the .gitignore of `directory`, which is `base` ("" or ending in /) from the root."""
        spec = _spec(directory / ".gitignore")
        return Ignored((*self._rules, _Rules(base, "", spec))) if spec else self

    def __call__(self, path: str) -> bool:
        """Whether the path from the scanned root is ignored; that of a directory ends in /."""
        for rules in reversed(self._rules):
            verdict = rules.spec.check_file(rules.prefix + path[len(rules.base) :]).include
            if verdict is not None:
                return verdict
        return False


NOTHING_IGNORED = Ignored(())


def rules_above(root: Path) -> Ignored:
    """What the repository says of `root`: its exclude file and the .gitignore files above."""
    top = next((each for each in (root, *root.parents) if (each / ".git").exists()), None)
    if top is None:
        return NOTHING_IGNORED
    rules = []
    above = [each for each in reversed(root.parents) if each == top or top in each.parents]
    for directory, file in (
        (top, _exclude_file(top / ".git")),
        *((directory, directory / ".gitignore") for directory in above),
    ):
        if spec := _spec(file):
            way = root.relative_to(directory).as_posix()
            rules.append(_Rules("", "" if way == "." else f"{way}/", spec))
    return Ignored(tuple(rules))


def _spec(path: Path) -> GitIgnoreSpec | None:
    lines = list(_lines(path))
    return GitIgnoreSpec.from_lines(lines) if lines else None


def _lines(path: Path) -> Iterator[str]:
    try:
        if path.stat().st_size > _LARGEST_BYTES or not path.is_file():
            return
        text = path.read_text("utf-8", "replace")
    except OSError:
        return
    for line in text.splitlines():
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue  # git, too, passes over a pattern that makes no sense
        if line.strip() and not line.startswith("#"):
            # To git, `a/**` is all that is in `a`; pathspec would take `a/` itself for a match.
            yield f"{line}/*" if line.endswith("/**") else line


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
