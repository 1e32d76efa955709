"""Finds a Python that can run copydraft. An old Python has to be able to read this file."""

import os
import shutil
import subprocess
import sys

OLDEST = (3, 11)
NEWER = ("python3.14", "python3.13", "python3.12", "python3.11")


def require() -> None:
    """Start over in a newer Python where this one is too old; exits where there is none."""
    if sys.version_info >= OLDEST:
        return
    for name in NEWER:
        path = shutil.which(name)
        # pyenv puts names on the search path of versions that it will not start.
        if path and subprocess.call([path, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            os.execv(path, [path, *sys.argv])
    sys.exit(
        f"copydraft: Python 3.11 or newer is needed, and this is {sys.version_info[0]}."
        f"{sys.version_info[1]}.\n"
        "  Install one (Debian, Ubuntu: apt install python3.11 python3.11-venv; "
        "Fedora, RHEL: dnf install python3.11), then run this again."
    )
