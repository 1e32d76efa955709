"""What every request passes on its way in: versions are compared, arrivals are counted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from time import monotonic

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from copydraft.api import faults
from copydraft.errors import BadRequest, CopydraftError, DaemonUnavailable
from copydraft.protocol import PROTOCOL_VERSION, VERSION_HEADER, version_mismatch

ANY_VERSION = {("GET", "/v1/status"), ("POST", "/v1/stop")}
"""What clients of every version may ask, so that an old daemon can be found out and replaced."""


class Gate:
    """ASGI middleware around the application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open = 0
        self._last = monotonic()
        self.closed = False
        """Set when the daemon stops: requests that come now are refused."""

    def idle_s(self) -> float:
        """Seconds without a request; 0 while one is open."""
        return 0.0 if self._open else monotonic() - self._last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_version(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[VERSION_HEADER] = str(PROTOCOL_VERSION)
            await send(message)

        refusal = self._refusal(scope)
        app = faults.answer(refusal) if refusal else self._app
        with self.counting():
            await app(scope, receive, send_with_version)

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """A request is open inside the `with` block; those that come another way count too."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._last = monotonic()

    def _refusal(self, scope: Scope) -> CopydraftError | None:
        if self.closed:
            return DaemonUnavailable("the daemon is stopping", "run the command again")
        if (scope["method"], scope["path"]) in ANY_VERSION:
            return None
        theirs = Headers(scope=scope).get(VERSION_HEADER, str(PROTOCOL_VERSION))
        if not theirs.isdecimal():
            return BadRequest(f"the header {VERSION_HEADER} is not a number")
        if int(theirs) != PROTOCOL_VERSION:
            return version_mismatch(client=int(theirs), daemon=PROTOCOL_VERSION)
        return None
