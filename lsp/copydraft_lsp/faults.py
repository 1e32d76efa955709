"""Faults as answers of LSP: one line with what to do, never a traceback."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar

import msgspec
from lsprotocol.types import ErrorCodes, LSPErrorCodes
from pygls.exceptions import JsonRpcException

from copydraft.errors import BadRequest, CopydraftError

_log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=msgspec.Struct)


def one_line(fault: CopydraftError) -> str:
    """The fault's message and what mends it."""
    return f"{fault.message} ({fault.hint})" if fault.hint else fault.message


def as_answer(fault: CopydraftError) -> JsonRpcException:
    """The error that answers a request; `data` holds the parts for clients of ours.

    Not "content modified", even where that is what it is: clients drop that one without a word.
    """
    bad = isinstance(fault, BadRequest)
    return JsonRpcException(
        one_line(fault),
        ErrorCodes.InvalidParams if bad else LSPErrorCodes.RequestFailed,
        {"code": fault.code, "message": fault.message, "hint": fault.hint},
    )


def answered(handler: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """`handler`, whose faults become answers; a bug is logged and told as one."""

    @functools.wraps(handler)
    async def safe(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await handler(*args, **kwargs)
        except (asyncio.CancelledError, JsonRpcException):
            raise
        except CopydraftError as fault:
            raise as_answer(fault) from None
        except Exception as error:
            _log.exception("a fault of the language server's own")
            what = f"the language server met a fault of its own: {type(error).__name__}"
            raise as_answer(
                CopydraftError(what, "its traceback is in the editor's log of copydraft-lsp")
            ) from None

    return safe


def argument(arguments: list[Any] | None, kind: type[T]) -> T:
    """The one argument of a command.

    Raises:
        BadRequest: it is missing or not of this kind.
    """
    given = arguments[0] if arguments else {}
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise BadRequest(f"bad arguments of the command: {error}", "see the README") from error
