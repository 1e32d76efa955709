"""Where copydraft keeps things, by the XDG base directory rules."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from platformdirs import PlatformDirs

from copydraft.errors import DaemonUnavailable, DiskProblem

_DIRS = PlatformDirs("copydraft", appauthor=False)

# sizeof(sockaddr_un.sun_path) is 108 on Linux and 104 on macOS, the closing NUL included.
_LONGEST_SOCKET_PATH = 103


def config_file() -> Path:
    return Path(_DIRS.user_config_dir) / "config.toml"


def models_dir() -> Path:
    """Downloaded models: large, wanted again, and the user's to move or remove."""
    return Path(_DIRS.user_data_dir) / "models"


def state_dir() -> Path:
    """Statistics, profiles, cost tables and logs: kept for good."""
    return Path(_DIRS.user_state_dir)


def cache_dir() -> Path:
    """Whatever can be rebuilt."""
    return Path(_DIRS.user_cache_dir)


def state_database() -> Path:
    return state_dir() / "state.db"


def index_database() -> Path:
    """Text to draft from; made anew when it is gone."""
    return cache_dir() / "index.db"


def global_directories_file() -> Path:
    """Directories that the user added to the global corpus."""
    return state_dir() / "global-directories.txt"


def api_key_file() -> Path:
    """The key that coding agents have to show; only this user may read it."""
    return state_dir() / "api-key"


def traces_file() -> Path:
    """Requests that were recorded: prompts and answers, as tokens."""
    return state_dir() / "traces.jsonl"


def log_file() -> Path:
    return state_dir() / "daemon.log"


def error_output_file() -> Path:
    """What the daemon and llama.cpp print on stderr when a client started the daemon."""
    return state_dir() / "daemon.stderr.log"


def runtime_dir() -> Path:
    """A directory that only this user can enter; it holds the socket and the lock.

    `$XDG_RUNTIME_DIR/copydraft`; where that is not set, `copydraft-UID` among temporary files.

    Raises:
        DaemonUnavailable: the directory belongs to someone else.
        DiskProblem: it cannot be made.
    """
    base = os.environ.get("XDG_RUNTIME_DIR")
    path = (
        Path(base) / "copydraft"
        if base
        else Path(tempfile.gettempdir()) / f"copydraft-{os.getuid()}"
    )
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise DaemonUnavailable(
                f"{path} is not a directory of yours",
                "remove it, or set XDG_RUNTIME_DIR to a directory that only you can enter",
            )
        path.chmod(0o700)
    except OSError as error:
        raise DiskProblem(
            f"cannot make {path}: {error.strerror}", "set XDG_RUNTIME_DIR to a directory of yours"
        ) from error
    return path


def socket_path() -> Path:
    """The daemon's unix socket.

    Raises:
        DaemonUnavailable: the path is longer than the system allows for a socket.
    """
    path = runtime_dir() / "daemon.sock"
    if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
        raise DaemonUnavailable(
            f"the socket's path is too long for the system: {path}",
            f"set XDG_RUNTIME_DIR to a directory with a path under "
            f"{_LONGEST_SOCKET_PATH - len('/copydraft/daemon.sock')} bytes",
        )
    return path


def lock_path() -> Path:
    """Locked by the daemon while it lives."""
    return runtime_dir() / "daemon.lock"


def start_lock_path() -> Path:
    """Locked by a client while it starts or replaces the daemon."""
    return runtime_dir() / "start.lock"


def make_dir(path: Path) -> Path:
    """`path`, made with its parents.

    Raises:
        DiskProblem: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiskProblem(
            f"cannot make {path}: {error.strerror}",
            "mend the permissions there, or free some space",
        ) from error
    return path
