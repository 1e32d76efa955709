"""Directories that the user added to the global corpus: kept for good, one path a line."""

from __future__ import annotations

import os
from pathlib import Path

from copydraft import paths
from copydraft.errors import DiskProblem
from copydraft.workspace.libraries import Library


def listed(file: Path) -> list[Library]:
    """All of them, with every text in them; none if the file is not there.

    Raises:
        DiskProblem: the file cannot be read.
    """
    try:
        lines = file.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise DiskProblem(f"cannot read {file}: {error}", "mend or remove the file") from error
    return [Library(Path(line), ()) for line in lines if line.startswith("/")]


def add(file: Path, root: Path) -> None:
    """Keep a directory; one that is kept already is no fault.

    Raises:
        DiskProblem: the file cannot be read or written.
    """
    kept = [library.root for library in listed(file)]
    if root not in kept:
        _write(file, [*kept, root])


def _write(file: Path, roots: list[Path]) -> None:
    paths.make_dir(file.parent)
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        partial.write_text("".join(f"{root}\n" for root in roots), "utf-8")
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise DiskProblem(
            f"cannot write {file}: {error.strerror}", "free the disk or mend its permissions"
        ) from error
