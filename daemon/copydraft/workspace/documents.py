"""Files of the user's: read exactly, checked, written atomically."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from copydraft.errors import BadRequest, DiskProblem, FileChanged, FileProblem
from copydraft.textedits import line_end, split_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST_BYTES = 4 * 1024 * 1024
"""A larger file is data, not text that anyone edits by region."""

_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


class DocumentFile(NamedTuple):
    """A text file as read: nothing of it is lost between reading and writing."""

    path: Path
    """The real file, symbolic links followed."""
    text: str
    """Without the byte order mark, line ends as they are."""
    bom: bool
    fingerprint: str
    """SHA-256 of the bytes read, in hex."""


def read_document(path: Path) -> DocumentFile:
    """The file's text.

    Raises:
        FileProblem: it is missing, not a regular file, unreadable, binary, not UTF-8, or over
            `LARGEST_BYTES`.
    """
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise FileProblem(f"{path} is a directory", "name a file in it")
        if not stat.S_ISREG(found.st_mode):
            raise FileProblem(f"{path} is not a regular file", "name a text file")
        if found.st_size > LARGEST_BYTES:
            raise FileProblem(
                f"{path} is too large: {found.st_size / 1e6:.1f} MB, at most "
                f"{LARGEST_BYTES / 1e6:.1f} MB can be edited",
                "copy the part you want to edit into a file of its own",
            )
        real = path.resolve()
        data = real.read_bytes()
    except FileNotFoundError as error:
        raise FileProblem(f"{path} does not exist", "check the name and the directory") from error
    except OSError as error:
        raise FileProblem(
            f"cannot read {path}: {error.strerror}", "check the file and its permissions"
        ) from error
    return DocumentFile(real, _decoded(data, path), data.startswith(_BOM), _fingerprint(data))


def write_document(document: DocumentFile, new_text: str) -> DocumentFile:
    """Replace the file's text at one stroke; on any error the file is as it was.

    Raises:
        FileChanged: its bytes are no longer those that were read.
        FileProblem: it cannot be written.
        DiskProblem: the disk is full.
    """
    path = document.path
    data = (_BOM if document.bom else b"") + new_text.encode("utf-8")
    try:
        # Replacing a file needs no right to write it, only its directory; the user's word counts.
        if not os.access(path, os.W_OK) and path.exists():
            raise FileProblem(f"{path} is read-only", "make it writable: chmod u+w")
        _replace(document, data)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskProblem(
                f"cannot write {path}: {error.strerror}", "free some space; the file is as it was"
            ) from error
        raise FileProblem(
            f"cannot write {path}: {error.strerror}",
            f"check the permissions of {path.parent}; the file is as it was",
        ) from error
    return document._replace(text=new_text, fingerprint=_fingerprint(data))


def region_lines(text: str, start: int, end: int) -> list[str]:
    """Lines [start, end) of `text`, 0-based, with their ends.

    Raises:
        BadRequest: there are no such lines; the message counts from 1.
    """
    lines = split_lines(text)
    count = f"{len(lines)} line" + "s" * (len(lines) != 1)
    if not lines:
        raise BadRequest("the file is empty", "write something into it first")
    if not 0 <= start < end:
        raise BadRequest(
            f"there are no lines {start + 1} to {end}", f"count from 1; the file has {count}"
        )
    if end > len(lines):
        raise BadRequest(
            f"lines {start + 1} to {end} are not in the file, which has {count}",
            f"choose lines from 1 to {len(lines)}",
        )
    return lines[start:end]


def repository_of(path: Path) -> Path | None:
    """The root of the git repository that a file is in, or None."""
    folders = path.absolute().parents
    return next((folder for folder in folders if (folder / ".git").exists()), None)


def dominant_line_end(lines: Sequence[str]) -> str:
    r"""The most frequent line end, the first of equals; "" where no line has one."""
    ends = Counter(end for line in lines if (end := line_end(line)))
    return max(ends, key=ends.__getitem__, default="")


def _decoded(data: bytes, path: Path) -> str:
    if data.startswith(_UTF16_BOMS):
        raise FileProblem(f"{path} is UTF-16, not UTF-8", "convert it to UTF-8: iconv -f UTF-16")
    if (nul := data.find(0)) >= 0:
        raise FileProblem(f"{path} is binary: byte {nul} is NUL", "name a text file")
    try:
        return data.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        at = error.start + (len(_BOM) if data.startswith(_BOM) else 0)
        raise FileProblem(
            f"{path} is not UTF-8: byte {at} is 0x{data[at]:02x}",
            "convert it to UTF-8, say by iconv -f LATIN1 -t UTF-8",
        ) from error


def _fingerprint(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _replace(document: DocumentFile, data: bytes) -> None:
    path = document.path
    handle, name = tempfile.mkstemp(prefix=".copydraft-", dir=path.parent)
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
            # As late as can be: what was read must be what is replaced.
            found = _unchanged(document)
            with suppress(PermissionError):
                os.fchown(handle, found.st_uid, found.st_gid)
            os.fchmod(handle, stat.S_IMODE(found.st_mode))
        partial.replace(path)
    except BaseException:
        partial.unlink()
        raise
    # The file is written whatever comes of this: not every file system can do it.
    with suppress(OSError):
        _sync_directory(path.parent)


def _unchanged(document: DocumentFile) -> os.stat_result:
    try:
        same = _fingerprint(document.path.read_bytes()) == document.fingerprint
        found = document.path.stat()
    except FileNotFoundError as error:
        raise FileChanged(
            f"{document.path} was removed or renamed meanwhile", "run the edit again"
        ) from error
    if not same:
        raise FileChanged(f"{document.path} was changed meanwhile", "run the edit again")
    return found


def _sync_directory(path: Path) -> None:
    """The new name is on the disk too, not only the new content."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
