"""Which directories may be indexed as one project."""

from __future__ import annotations

from pathlib import Path

from copydraft.secret_names import is_secret


def project_at(root: str) -> Path | None:
    """The directory at `root`, if it can be one project.

    A home or all of the disk is none, nor what is inside a directory of secrets; nor one that
    cannot be looked at: a name that is none, a disk that does not answer, no right to it.
    """
    if not root.startswith("/"):
        return None
    try:
        directory = Path(root).resolve()
        home = Path.home().resolve()
        if directory == home or directory in home.parents or not directory.is_dir():
            return None
    except (OSError, ValueError, RuntimeError):
        return None
    return None if is_secret(f"{directory}/") else directory
