"""Faults as OpenAI's API tells them: an error with a message, a type, a parameter and a code."""

from __future__ import annotations

import logging
from typing import NamedTuple

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from copydraft.api import faults
from copydraft.errors import (
    BadRequest,
    Cancelled,
    ContextExceeded,
    CopydraftError,
    DaemonUnavailable,
    ModelProblem,
    OutOfMemory,
    VersionMismatch,
)

_log = logging.getLogger(__name__)


class BadParameter(BadRequest):
    """The request is refused for one of its fields, which OpenAI's API calls a parameter."""

    def __init__(self, param: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.param = param


class _Kind(NamedTuple):
    status: int
    type: str
    code: str | None


_CALLERS, _OURS = "invalid_request_error", "server_error"

_KINDS: dict[type[CopydraftError], _Kind] = {
    BadRequest: _Kind(400, _CALLERS, None),
    ContextExceeded: _Kind(400, _CALLERS, "context_length_exceeded"),
    ModelProblem: _Kind(404, _CALLERS, "model_not_found"),
    VersionMismatch: _Kind(426, _CALLERS, "version"),
    OutOfMemory: _Kind(503, _OURS, "out_of_memory"),
    DaemonUnavailable: _Kind(503, _OURS, "unavailable"),
    Cancelled: _Kind(503, _OURS, "cancelled"),
}

_PASSES = (DaemonUnavailable, Cancelled)
"""Asking again may help. Clients of OpenAI's would ask again after every other fault of ours too,
were they not told."""


def error_of(error: CopydraftError) -> dict[str, object]:
    """The body of an answer that tells `error`."""
    kind = _kind_of(error)
    message = f"{error.message}; {error.hint}" if error.hint else error.message
    param = error.param or None if isinstance(error, BadParameter) else None
    told = {"message": message, "type": kind.type, "param": param, "code": kind.code}
    return {"error": told}


def answer(error: CopydraftError) -> Response:
    status = _kind_of(error).status
    headers = (
        {"x-should-retry": "false"} if status >= 500 and not isinstance(error, _PASSES) else {}
    )
    return _response(error_of(error), status, headers)


def refusal(
    status: int, message: str, code: str | None, headers: dict[str, str] | None = None
) -> Response:
    """The answer to a request that never reached what it was meant for."""
    told = {"message": message, "type": _CALLERS, "param": None, "code": code}
    return _response({"error": told}, status, headers)


def _response(body: object, status: int, headers: dict[str, str] | None) -> Response:
    return Response(msgspec.json.encode(body), status, headers, media_type="application/json")


def _kind_of(error: CopydraftError) -> _Kind:
    known = (_KINDS.get(kind) for kind in type(error).__mro__)
    return next((kind for kind in known if kind), _Kind(500, _OURS, error.code))


async def _http_fault(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return refusal(404, f"unknown URL: {request.method} {request.url.path}", "unknown_url")
    if error.status_code == 405:
        what = f"{request.url.path} does not take {request.method}"
        return refusal(405, what, "method_not_supported", dict(error.headers or {}))
    return refusal(error.status_code, error.detail, None)


async def _bug(_: Request, error: Exception) -> Response:
    # Within a route nobody raises it again, so that it would not be logged.
    _log.error("a bug", exc_info=error)
    return answer(faults.own_fault(error))


HANDLERS = faults.handlers(answer, _http_fault) | {Exception: _bug}
