"""Faults as HTTP answers: always a Failed, whatever went wrong."""

from __future__ import annotations

from collections.abc import Callable

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


def own_fault(error: Exception) -> CopydraftError:
    """What clients are told of a bug."""
    what = f"the daemon met a fault of its own: {type(error).__name__}"
    return CopydraftError(what, f"its traceback is in {paths.log_file()}")


def handlers(
    tell: Callable[[CopydraftError], Response], http_fault: ExceptionHandler
) -> dict[type[Exception], ExceptionHandler]:
    """What an application does with faults: `tell` has their shape, `http_fault` those of HTTP."""

    async def known_fault(_: Request, error: Exception) -> Response:
        assert isinstance(error, CopydraftError)
        return tell(error)

    async def bug(_: Request, error: Exception) -> Response:
        return tell(own_fault(error))

    async def nobody_listens(_: Request, __: Exception) -> Response:
        """The client left before its request was answered."""
        return Response(status_code=400)

    return {
        CopydraftError: known_fault,
        HTTPException: http_fault,
        ClientDisconnect: nobody_listens,
        # Starlette raises the error again afterwards, so that its traceback is logged.
        Exception: bug,
    }


async def _http_fault(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code in (404, 405):
        what = f"the daemon has no {request.method} {request.url.path}"
        return answer(BadRequest(what, "update copydraft, or see its documentation"), 404)
    return answer(BadRequest(error.detail), error.status_code)


HANDLERS = handlers(answer, _http_fault)
