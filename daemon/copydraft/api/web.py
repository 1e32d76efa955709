"""The statistics page for a browser: a loopback listener that is there only when asked for.

Other programs and other users of the machine reach a loopback port too, and so does any web page
that the browser shows. So the address holds a token that opens the page once, in exchange for a
cookie that scripts cannot read and that other sites cannot send; requests of another user, for
another host (DNS rebinding) or from another origin are refused; and all that can be reached is the
page and what it reads.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import time
from collections.abc import Callable, Sequence
from importlib import resources

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from copydraft import protocol
from copydraft.api import faults, peer
from copydraft.api.http_server import HttpServer
from copydraft.api.loopback import LoopbackPort
from copydraft.protocol import WebAddress

_log = logging.getLogger(__name__)

IDLE_S = 30 * 60.0
"""The listener closes after so long without a request."""

TOKEN_S = 5 * 60.0
"""An address that was not opened by then is refused."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_ROOT = 0
_WHERE = (
    "This page is at {host} and has no other address, so that no other site can read it.\n"
    "By ssh, forward a port of the same number: ssh -L {port}:{host} …\n"
)
_HOW = "Run `copydraft stats --web`: it prints an address that opens this page once.\n"


def page(nonce: str) -> str:
    """The page with its style and script in it, which the policy allows by `nonce`."""
    files = resources.files("copydraft") / "web"
    html, style, charts, script = (
        (files / name).read_text("utf-8")
        for name in ("statistics.html", "statistics.css", "charts.js", "statistics.js")
    )
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'"
    )
    filled = {"policy": policy, "nonce": nonce, "style": style, "script": charts + script}
    head, *parts = html.split("{{")
    return head + "".join(
        filled[name] + rest for name, _, rest in (part.partition("}}") for part in parts)
    )


class StatisticsSite:
    """The listener and who may use it; for the event loop's thread."""

    def __init__(self, reading: Sequence[Route]) -> None:
        """`reading` are the routes that the page gets its data from."""
        self._pages = Starlette(
            routes=[Route("/", self._page, methods=["GET"]), *reading],
            exception_handlers=faults.HANDLERS,
        )
        self._listener: _Listener | None = None

    def routes(self) -> list[Route]:
        """What the daemon's own socket gets."""
        return [Route("/v1/web", self._open, methods=["POST"])]

    async def close(self) -> None:
        """Close the listener if there is one; its tokens and cookies are worth nothing then."""
        if self._listener:
            await self._listener.close()

    async def _open(self, _: Request) -> Response:
        if self._listener is None:
            self._listener = _Listener(self._pages, self._closes)
        address = WebAddress(url=self._listener.new_address(), expires_s=TOKEN_S)
        return Response(protocol.encode(address), media_type="application/json")

    async def _page(self, _: Request) -> Response:
        # Only `_Listener` serves this, which has let the request in.
        nonce = secrets.token_urlsafe(16)
        headers = {"Content-Security-Policy": "frame-ancestors 'none'"}
        return HTMLResponse(page(nonce), headers=headers)

    def _closes(self) -> None:
        self._listener = None


class _Listener:
    """One loopback port, from its opening to its closing: ASGI middleware around the pages."""

    def __init__(self, pages: ASGIApp, closes: Callable[[], None]) -> None:
        """`closes` is called when no new address may be asked of this one any more."""
        self._pages = pages
        self._closes = closes
        self._port = LoopbackPort()
        # A browser's cookies know no ports: another daemon's must not take the place of ours.
        self._cookie_name = f"copydraft-{self._port.number}"
        self._cookies: list[str] = []
        self._tokens: dict[str, float] = {}
        """Each with the time by `time.monotonic()` when it ends."""
        self._last = time.monotonic()
        self._ended = asyncio.Event()
        self._running = asyncio.create_task(self._run())

    def new_address(self) -> str:
        now = self._last = time.monotonic()
        self._tokens = {token: end for token, end in self._tokens.items() if end > now}
        token = secrets.token_urlsafe(32)
        self._tokens[token] = now + TOKEN_S
        return f"http://{self._port.hosts[0]}/?token={token}"

    async def close(self) -> None:
        self._ended.set()
        await self._running

    async def _run(self) -> None:
        """Serve until `close`, or until nobody has asked for long."""
        _log.info("the statistics page is served at port %d", self._port.number)
        server = HttpServer(self)
        serving = asyncio.create_task(server.serve(sockets=[self._port.socket]))
        while (left := self._last + IDLE_S - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), left)
                break
        self._closes()
        server.end()
        await serving
        self._port.socket.close()
        _log.info("port %d is closed", self._port.number)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        cookie = ""

        async def send_hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                if cookie:
                    headers.append("Set-Cookie", cookie)
            await send(message)

        if refusal := self._refusal(request):
            await refusal(scope, receive, send_hardened)
            return
        # First of all: a browser that has its cookie spends the token, too.
        has_token = self._takes_token(request)
        if not self._has_cookie(request):
            if not has_token:
                await PlainTextResponse(_HOW, 403)(scope, receive, send_hardened)
                return
            # The page is the answer, and no redirect to it: a browser that came from elsewhere
            # would not send a strict cookie there.
            cookie = self._new_cookie()
        self._last = time.monotonic()
        await self._pages(scope, receive, send_hardened)

    def _refusal(self, request: Request) -> Response | None:
        """What no cookie and no token makes good."""
        port = self._port
        if not port.is_named_by(request):
            return PlainTextResponse(_WHERE.format(host=port.hosts[0], port=port.number), 421)
        if not self._is_ours(request):
            return PlainTextResponse("this page is another user's\n", 403)
        if port.is_foreign(request):
            return PlainTextResponse("pages of other origins get nothing here\n", 403)
        if request.method != "GET":
            return PlainTextResponse("there is nothing to change here\n", 405, {"Allow": "GET"})
        site = request.headers.get("sec-fetch-site", "none")
        if request.url.path != "/" and site not in ("none", "same-origin"):
            return PlainTextResponse("pages of other sites get nothing here\n", 403)
        return None

    def _is_ours(self, request: Request) -> bool:
        """Whether it comes from this user's program, or from root's, which forwards for all."""
        assert request.client is not None
        user = peer.user_of(request.client.host, request.client.port, self._port.number)
        return user in (os.getuid(), _ROOT, None)

    def _has_cookie(self, request: Request) -> bool:
        given = request.cookies.get(self._cookie_name, "").encode()
        return any(secrets.compare_digest(given, cookie.encode()) for cookie in self._cookies)

    def _takes_token(self, request: Request) -> bool:
        """Whether the request brought a token for the page; it is spent then."""
        given = request.query_params.get("token", "").encode()
        for token, end in self._tokens.items():
            if secrets.compare_digest(given, token.encode()) and request.url.path == "/":
                del self._tokens[token]
                return end > time.monotonic()
        return False

    def _new_cookie(self) -> str:
        self._cookies.append(secrets.token_urlsafe(32))
        return f"{self._cookie_name}={self._cookies[-1]}; Path=/; HttpOnly; SameSite=Strict"
