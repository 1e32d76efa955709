"""The files of a workspace, or of a library, that may be indexed: text that people wrote.

Left out: what git ignores, secrets, binary and very large files, other people's code inside the
workspace (environments, node_modules), and every symbolic link: nothing outside is reached, and
no loop is entered. One directory is open at a time.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from copydraft.errors import FileProblem
from copydraft.secret_names import is_secret
from copydraft.workspace.ignore import NOTHING_IGNORED, Ignored, is_ignored, rules_above

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LARGEST_BYTES = 1 << 20
"""A larger file was made by a program, or is data: no one copies from it."""

_FOREIGN_DIRECTORIES = {
    *(".git", ".hg", ".svn", ".jj", ".cache", ".tox", ".nox", ".venv", "venv", "node_modules"),
    *("__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "site-packages"),
}
_BESIDE_A_STANDARD_LIBRARY = ("site-packages", "test")
"""Packages that were installed, and half of Python's own text, which no one calls into."""
_ENVIRONMENT = "pyvenv.cfg"
"""A directory with this file is a Python environment, whatever its name."""

_BINARY = frozenset(
    [
        *(".7z", ".a", ".avi", ".bin", ".bmp", ".bz2", ".class", ".db"),
        *(".dll", ".dylib", ".egg", ".eot", ".exe", ".flac", ".gguf", ".gif"),
        *(".gz", ".ico", ".jar", ".jpeg", ".jpg", ".lib", ".lock", ".map"),
        *(".mo", ".mov", ".mp3", ".mp4", ".npy", ".npz", ".o", ".obj"),
        *(".ogg", ".onnx", ".otf", ".parquet", ".pdf", ".pickle", ".pkl", ".png"),
        *(".pt", ".pyc", ".pyd", ".rar", ".rlib", ".rmeta", ".safetensors", ".so"),
        *(".sqlite", ".svg", ".tar", ".tgz", ".tif", ".tiff", ".ttf", ".wasm"),
        *(".wav", ".webm", ".webp", ".whl", ".woff", ".woff2", ".xz", ".zip", ".zst"),
    ]
)
"""Not text, or text that only programs write."""
_MINIFIED = (".min.js", ".min.css", "-lock.json")

_GONE = {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG}
"""The file or directory went away, or is not for us. All other errors are the disk's or ours."""


class FoundFile(NamedTuple):
    """A file that may be indexed; `path` is relative to the root, with / between its parts."""

    path: str
    size: int
    modified: int
    """ns since 1970, as the file system says; it may jump, so only equality has a meaning."""
    changed: int
    """ns since 1970 of the last change of content, name or rights."""


class Scanner:
    """Walks below one root."""

    def __init__(
        self, root: Path, *, suffixes: tuple[str, ...] = (), library: bool = False
    ) -> None:
        """Only files with one of `suffixes`, if any are given.

        In a library, what git ignores and other people's code is wanted. One of which all is
        wanted is the user's own: what is ignored in it is left out; where it is ignored itself,
        by its own rules alone.
        """
        self._root = root.resolve()
        self._suffixes = suffixes
        self._library = library
        self._own = not library or not suffixes

    @property
    def root(self) -> Path:
        """Symbolic links on the way to it are followed."""
        return self._root

    def scan(self) -> Iterator[FoundFile]:
        """All files.

        Raises:
            FileProblem: a directory cannot be listed though it is there.
        """
        return self._walk("", self._rules())

    def look(self, paths: Iterable[Path]) -> Iterator[FoundFile]:
        """The files at and below some absolute paths; those that are not, or may not be, are left.

        Raises:
            FileProblem: a directory cannot be listed though it is there.
        """
        above_root = self._rules()
        entered: dict[str, Ignored | None] = {"": self._below("", above_root)}
        for path in paths:
            if not path.is_relative_to(self._root):
                continue
            *above, name = ("", *path.relative_to(self._root).parts)
            if not name:
                yield from self._walk("", above_root)
                continue
            base = "".join(f"{part}/" for part in above[1:])
            rules = self._rules_in(base, entered)
            if rules is not None:
                yield from self._entry(base, name, rules)

    def leaves_out(self, name: str) -> bool:
        """Whether a file is left out for what git ignores or for a directory that it is in.

        `name` is its path below the root. The file need not be there, and may be of any size.

        Raises:
            FileProblem: a directory on the way cannot be looked at though it is there.
        """
        *above, _ = name.split("/")
        rules = self._rules().below(self._root, "")
        base = ""
        for part in above:
            if self._status(base, part) is not None and not self._enters(base, part, rules):
                return True
            base += f"{part}/"
            if rules(base):
                return True
            rules = rules.below(self._root / base, base)
        return rules(name)

    def _rules(self) -> Ignored:
        if not self._own or (self._library and is_ignored(self._root)):
            return NOTHING_IGNORED
        return rules_above(self._root)

    def _below(self, base: str, rules: Ignored) -> Ignored:
        """The rules in the directory `base`, given those of its parent."""
        return rules.below(self._root / base, base) if self._own else rules

    def _rules_in(self, base: str, entered: dict[str, Ignored | None]) -> Ignored | None:
        """The rules in the directory `base`, None if it is left out; `entered` is added to."""
        above = ""
        for name in base.split("/")[:-1]:
            directory = f"{above}{name}/"
            if directory not in entered:
                rules = entered[above]
                if rules is not None and self._enters(above, name, rules):
                    entered[directory] = self._below(directory, rules)
                else:
                    entered[directory] = None
            above = directory
        return entered[base]

    def _walk(self, base: str, rules: Ignored) -> Iterator[FoundFile]:
        """Files below the directory `base`, "" or ending in /; rules are those of its parent."""
        waiting = [(base, rules)]
        while waiting:
            base, rules = waiting.pop()
            rules = self._below(base, rules)
            for name in self._names(self._root / base):
                status = self._status(base, name)
                if status is None:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    if self._enters(base, name, rules):
                        waiting.append((f"{base}{name}/", rules))
                elif found := self._file(base, name, status, rules):
                    yield found

    def _entry(self, base: str, name: str, rules: Ignored) -> Iterator[FoundFile]:
        status = self._status(base, name)
        if status is None:
            return
        if stat.S_ISDIR(status.st_mode):
            if self._enters(base, name, rules):
                yield from self._walk(f"{base}{name}/", rules)
        elif found := self._file(base, name, status, rules):
            yield found

    def _names(self, directory: Path) -> list[str]:
        try:
            return sorted(path.name for path in directory.iterdir())
        except OSError as error:
            if error.errno in _GONE:
                return []
            raise FileProblem(
                f"cannot list {directory}: {error.strerror}",
                "see whether the disk answers and how many files may be open (ulimit -n)",
            ) from error

    def _status(self, base: str, name: str) -> os.stat_result | None:
        path = self._root / base / name
        try:
            return path.lstat()
        except OSError as error:
            if error.errno in _GONE:
                return None
            raise FileProblem(
                f"cannot look at {path}: {error.strerror}", "see whether the disk answers"
            ) from error

    def _enters(self, base: str, name: str, rules: Ignored) -> bool:
        """Whether files below a directory may be indexed."""
        status = self._status(base, name)
        if status is None or not stat.S_ISDIR(status.st_mode) or is_secret(f"{name}/"):
            return False
        if self._library:
            if name in _BESIDE_A_STANDARD_LIBRARY and (self._root / base / "os.py").exists():
                return False
            wanted = name in ("node_modules", "site-packages") or name not in _FOREIGN_DIRECTORIES
            return wanted and not rules(f"{base}{name}/")
        return (
            name not in _FOREIGN_DIRECTORIES
            and not rules(f"{base}{name}/")
            and self._status(f"{base}{name}/", _ENVIRONMENT) is None
        )

    def _file(
        self, base: str, name: str, status: os.stat_result, rules: Ignored
    ) -> FoundFile | None:
        path = base + name
        suffix = name[name.rfind(".") :].lower() if "." in name else ""
        if (
            not stat.S_ISREG(status.st_mode)
            or not 0 < status.st_size <= LARGEST_BYTES
            or suffix in _BINARY
            or name in _FOREIGN_DIRECTORIES  # in a worktree, .git is a file
            or (self._suffixes and not name.endswith(self._suffixes))
            or name.endswith(_MINIFIED)
            or not _is_text(path)
            or is_secret(path)
            or rules(path)
        ):
            return None
        return FoundFile(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _is_text(path: str) -> bool:
    """Whether a path can be kept in a database and sent as JSON."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
