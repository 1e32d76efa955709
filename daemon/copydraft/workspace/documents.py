"""Files of the user's: read exactly, checked, written atomically."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


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
        FileProblem: it is missing, a directory, unreadable, binary, not UTF-8, or over 4 MB.
    """
    raise NotImplementedError


def write_document(document: DocumentFile, new_text: str) -> DocumentFile:
    """Replace the file's text at one stroke; on any error the file is as it was.

    Raises:
        FileChanged: its bytes are no longer those that were read.
        FileProblem: it cannot be written.
        DiskProblem: the disk is full.
    """
    raise NotImplementedError


def split_lines(text: str) -> list[str]:
    r"""Lines with their ends; only `\n`, `\r\n` and `\r` end a line."""
    raise NotImplementedError


def region_lines(text: str, start: int, end: int) -> list[str]:
    """Lines [start, end) of `text`, 0-based, with their ends.

    Raises:
        BadRequest: there are no such lines; the message counts from 1.
    """
    raise NotImplementedError
