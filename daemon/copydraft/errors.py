"""Every fault a user can meet: a code for the wire, an exit status, and what to do about it.

The message says what is wrong in one line; the hint says what mends it. Both reach the user
unchanged, by the CLI (stderr and the exit status) and over the socket (`protocol.Failed`).
"""

from __future__ import annotations

from typing import ClassVar


class CopydraftError(Exception):
    """Base of all faults that are shown to the user; anything else is a bug."""

    code: ClassVar[str] = "internal"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.answer: dict[str, str] = {}
        """What the model wrote before the fault, by its names in JSON; it must not be lost."""


class BadRequest(CopydraftError):
    """The request makes no sense: a line range outside the file, an unknown option or setting."""

    code = "bad-request"
    exit_status = 2


class ContextExceeded(BadRequest):
    """The conversation, and room for an answer, is more than the model's context holds."""

    code = "context"


class FileProblem(CopydraftError):
    """A file of the user's is missing, unreadable, binary, too large or not UTF-8."""

    code = "file"
    exit_status = 3


class FileChanged(CopydraftError):
    """The file was changed by someone else between the request and the write."""

    code = "file-changed"
    exit_status = 4


class ModelProblem(CopydraftError):
    """A model is unknown, missing, damaged, or of a kind this build cannot run."""

    code = "model"
    exit_status = 5


class OutOfMemory(CopydraftError):
    """The model or its context does not fit in the memory of the device."""

    code = "memory"
    exit_status = 6


class NetworkProblem(CopydraftError):
    """A download failed or a source could not be reached."""

    code = "network"
    exit_status = 7


class DiskProblem(CopydraftError):
    """The disk is full or a directory of ours cannot be written."""

    code = "disk"
    exit_status = 8


class DaemonUnavailable(CopydraftError):
    """The daemon cannot be started, does not answer, or went away during a request."""

    code = "daemon"
    exit_status = 9


class VersionMismatch(CopydraftError):
    """Client and daemon speak different versions of the protocol."""

    code = "version"
    exit_status = 10


class AnswerRefused(CopydraftError):
    """The model's answer is not an edit: empty, a placeholder, endless, or cut off."""

    code = "answer-refused"
    exit_status = 11


class EngineProblem(CopydraftError):
    """llama.cpp could not do what was asked of it (a decode or a rollback failed)."""

    code = "engine"
    exit_status = 12


class Cancelled(CopydraftError):
    """The request was cancelled by its client, or the daemon is stopping."""

    code = "cancelled"
    exit_status = 130


def _kinds(base: type[CopydraftError]) -> dict[str, type[CopydraftError]]:
    """`base` and all that are derived from it, by their codes; of one code, the most general."""
    kinds: dict[str, type[CopydraftError]] = {}
    for cls in base.__subclasses__():
        kinds |= _kinds(cls)
    return kinds | {base.code: base}


def from_wire(code: str, message: str, hint: str) -> CopydraftError:
    """The exception that the daemon raised, rebuilt in the client; unknown codes stay general."""
    return _kinds(CopydraftError).get(code, CopydraftError)(message, hint)
