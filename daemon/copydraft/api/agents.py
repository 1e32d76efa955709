"""The port for coding agents: OpenAI's API on the loopback device, for those who have the key.

It is there only where the setting `api_port` names it. Whatever is wrong with it, the daemon
serves its socket all the same, and says in its status what that is.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from copydraft.api import api_key, openai_faults
from copydraft.api.gate import Gate
from copydraft.api.http_server import HttpServer
from copydraft.api.loopback import LoopbackPort
from copydraft.errors import DaemonUnavailable, DiskProblem, NetworkProblem
from copydraft.protocol import ApiStatus

_log = logging.getLogger(__name__)

_SCHEME = "Bearer"


class AgentsPort:
    """The listener and who may use it: ASGI middleware around the routes."""

    def __init__(self, routes: Sequence[Route], gate: Gate) -> None:
        """What is let in counts as a request to `gate`, and is refused when that is closed."""
        self._app = Starlette(routes=routes, exception_handlers=openai_faults.HANDLERS)
        self._gate = gate
        self._server = HttpServer(self)
        self._port: LoopbackPort | None = None
        self._key = b""
        self._problem = ""

    def open(self, number: int) -> None:
        """Listen at port `number` from now on; 0: at none."""
        if number == 0:
            return
        try:
            self._key = api_key.ensure().encode()
            self._port = LoopbackPort(number)
        except (DiskProblem, NetworkProblem) as error:
            self._problem = f"{error.message}; {error.hint}"
            _log.warning("agents are not served: %s", self._problem)
        else:
            _log.info("agents are served at port %d", number)

    def status(self) -> ApiStatus:
        url = f"http://{self._port.hosts[0]}/v1" if self._port else ""
        return ApiStatus(url=url, problem=self._problem)

    @property
    def clients(self) -> int:
        """Connections that are open."""
        return len(self._server.server_state.connections)

    async def serve(self) -> None:
        """Serve until `end`; returns at once where nothing is open."""
        if self._port:
            await self._server.serve(sockets=[self._port.socket])
            self._port.socket.close()

    def end(self) -> None:
        self._server.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if refusal := self._refusal(Request(scope)):
            await refusal(scope, receive, send)
            return
        with self._gate.counting():
            await self._app(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        assert self._port is not None
        if not self._port.is_named_by(request):
            where = f"this API is at {' and '.join(self._port.hosts)} only"
            return openai_faults.refusal(421, where, "wrong_host")
        if self._port.is_foreign(request):
            what = "pages of other origins get nothing here"
            return openai_faults.refusal(403, what, "foreign_origin")
        if not self._has_key(request):
            return openai_faults.refusal(
                401,
                "the API key is missing or wrong; `copydraft api key` prints the right one",
                "invalid_api_key",
                {"WWW-Authenticate": f'{_SCHEME} realm="copydraft"'},
            )
        if self._gate.closed:
            stopping = DaemonUnavailable("the daemon is stopping", "ask again in a moment")
            return openai_faults.answer(stopping)
        return None

    def _has_key(self, request: Request) -> bool:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        is_right = secrets.compare_digest(key.strip().encode(), self._key)
        return is_right and scheme.lower() == _SCHEME.lower()
