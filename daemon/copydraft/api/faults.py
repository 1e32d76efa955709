"""Faults as HTTP answers: always a Failed, whatever went wrong."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ExceptionHandler

from copydraft import paths
from copydraft.errors import BadRequest, CopydraftError, DaemonUnavailable, VersionMismatch
from copydraft.protocol import Failed, encode

_HTTP_STATUS: dict[type[CopydraftError], int] = {
    BadRequest: 400,
    VersionMismatch: 426,
    DaemonUnavailable: 503,
}


def answer(error: CopydraftError, status: int | None = None) -> Response:
    """The response that tells `error`, under its usual HTTP status unless one is given."""
    return Response(
        encode(Failed.of(error)),
        status_code=status or _status_of(error),
        media_type="application/json",
    )


def _status_of(error: CopydraftError) -> int:
    known = (_HTTP_STATUS.get(kind) for kind in type(error).__mro__)
    return next((status for status in known if status), 500)


async def _known_fault(_: Request, error: Exception) -> Response:
    assert isinstance(error, CopydraftError)
    return answer(error)


async def _http_fault(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code in (404, 405):
        what = f"the daemon has no {request.method} {request.url.path}"
        return answer(BadRequest(what, "update copydraft, or see its documentation"), 404)
    return answer(BadRequest(error.detail), error.status_code)


async def _bug(_: Request, error: Exception) -> Response:
    """Starlette raises the error again afterwards, so that its traceback is logged."""
    what = f"the daemon met a fault of its own: {type(error).__name__}"
    return answer(CopydraftError(what, f"its traceback is in {paths.log_file()}"))


async def _nobody_listens(_: Request, __: Exception) -> Response:
    """The client left before its request was read."""
    return Response(status_code=400)


HANDLERS: dict[type[Exception], ExceptionHandler] = {
    CopydraftError: _known_fault,
    HTTPException: _http_fault,
    ClientDisconnect: _nobody_listens,
    Exception: _bug,
}
