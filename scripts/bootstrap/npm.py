"""`node_modules` of a package in the checkout, as its lock file has it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def prepare_npm(package: Path, environment: Mapping[str, str] | None = None) -> None:
    """Install what the lock file names, unless that was done since it was changed.

    Raises:
        subprocess.CalledProcessError: npm failed; what it says is on stderr.
    """
    lock, stamp = package / "package-lock.json", package / "node_modules/.package-lock.json"
    if stamp.exists() and stamp.stat().st_mtime >= lock.stat().st_mtime:
        return
    command = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    # In the environment that is given: tests have no home of the user's, where npm's cache is.
    subprocess.run(command, cwd=package, env=environment, stdout=sys.stderr, check=True)
    stamp.touch()
