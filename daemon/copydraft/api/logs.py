"""The daemon's log: one file of its own, one of what it and llama.cpp print; both bounded.

Prompts and answers never go there.
"""

from __future__ import annotations

import faulthandler
import logging
import logging.handlers
import os
import sys

from copydraft import paths
from copydraft.errors import DiskProblem

_LARGEST = 1_000_000
_OLDER_FILES = 2
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def set_up(level: str) -> None:
    """Log to `paths.log_file()`, and to stderr where that is a terminal or the only way."""
    logging.raiseExceptions = False  # a full disk must not print a traceback per line
    handlers: list[logging.Handler] = []
    try:
        paths.make_dir(paths.state_dir())
        handlers.append(
            logging.handlers.RotatingFileHandler(
                paths.log_file(), maxBytes=_LARGEST, backupCount=_OLDER_FILES, encoding="utf-8"
            )
        )
    except (OSError, DiskProblem):
        handlers.append(logging.StreamHandler())
    if sys.stderr.isatty():
        handlers.append(logging.StreamHandler())
    logging.basicConfig(format=_FORMAT, handlers=handlers, level=logging.WARNING)
    logging.getLogger("copydraft").setLevel(level.upper())
    # A fault in native code prints where Python was.
    faulthandler.enable()


def bound_error_output() -> None:
    """Begin a new stderr file when the one that a client opened has grown large."""
    path = paths.error_output_file()
    try:
        size = os.fstat(2).st_size
        if size < _LARGEST or not os.path.samestat(os.fstat(2), path.stat()):
            return
        path.replace(path.with_name(path.name + ".1"))
        fresh = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(fresh, 2)
        os.close(fresh)
    except OSError as error:
        logging.getLogger(__name__).warning("cannot bound %s: %s", path, error)
