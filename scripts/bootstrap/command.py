"""The face of the scripts: prepares, explains what goes wrong, and hands over."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from .environment import prepare
from .errors import SetupError

if TYPE_CHECKING:
    from pathlib import Path


def prepared(*, dev: bool = False, engine: bool = True) -> Path:
    """`.venv`'s Python; whatever goes wrong ends the script with one message."""
    try:
        return prepare(dev=dev, engine=engine)
    except SetupError as error:
        sys.exit(f"copydraft: {error.message}\n  {error.hint}")
    except OSError as error:  # a full disk, a directory that cannot be written
        sys.exit(f"copydraft: {error}")
    except KeyboardInterrupt:
        print("copydraft: interrupted; the next start goes on from here", file=sys.stderr)
        sys.exit(130)


def python_scripts(folder: Path) -> list[str]:
    """Names of the commands there that are Python, to be checked with the modules."""
    return sorted(
        file.name
        for file in folder.iterdir()
        if file.is_file() and not file.suffix and b"python" in file.read_bytes().partition(b"\n")[0]
    )


def become(python: Path, *arguments: str) -> NoReturn:
    """Replace this process by `python` with these arguments."""
    os.execv(python, [str(python), *arguments])
