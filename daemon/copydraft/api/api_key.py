"""The key that coding agents have to show: made once, in a file that only its user may read."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat

from copydraft import paths
from copydraft.errors import DiskProblem

_PREFIX = "sk-copydraft-"
_LONGEST = 1024
_ANEW = "`copydraft api on --new-key` makes another"


def read() -> str:
    """The key that is there; "" where there is none yet.

    Raises:
        DiskProblem: the file cannot be read, holds no key, or others may read it too.
    """
    path = paths.api_key_file()
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            content = file.read(_LONGEST)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise DiskProblem(f"cannot read {path}: {error.strerror}", _ANEW) from error
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise DiskProblem(f"others may read the key in {path}, or have done so", _ANEW)
    key = content.strip()
    if not key.startswith(_PREFIX.encode()) or not key.isascii():
        raise DiskProblem(f"{path} holds no key", _ANEW)
    return key.decode()


def ensure() -> str:
    """The key that is there, else a new one; of two programs at once, both get the same.

    Raises:
        DiskProblem: as for `read`; or it cannot be written.
    """
    if key := read():
        return key
    with contextlib.suppress(FileExistsError):
        _write(replace=False)
    return read()


def renew() -> str:
    """A new key, in the place of the one that is there.

    Raises:
        DiskProblem: it cannot be written.
    """
    _write(replace=True)
    return read()


def _write(*, replace: bool) -> None:
    path = paths.api_key_file()
    paths.make_dir(path.parent)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        try:
            file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(file, "w", encoding="ascii") as writer:  # noqa: PTH123  # it is open
                writer.write(f"{_PREFIX}{secrets.token_urlsafe(32)}\n")
            if replace:
                partial.replace(path)
            else:
                path.hardlink_to(partial)
        finally:
            partial.unlink(missing_ok=True)
    except FileExistsError:
        raise
    except OSError as error:
        raise DiskProblem(
            f"cannot write {path}: {error.strerror}", "free some space, or mend the permissions"
        ) from error
