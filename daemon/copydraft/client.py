"""The one way to call the daemon, for the CLI, the language server and the tests.

    async with await Client.connect() as client:
        async with aclosing(client.edit(request)) as events:
            async for event in events:
                ...

`connect` for every command: it costs a millisecond and starts the daemon where it is gone.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

import httpx
import httpx_sse
import msgspec

from copydraft import launch, paths, protocol
from copydraft.errors import BadRequest, DaemonUnavailable
from copydraft.protocol import (
    PROTOCOL_VERSION,
    VERSION_HEADER,
    ChatRequest,
    CompleteRequest,
    DocumentsTaken,
    DocumentUpdates,
    EditRequest,
    Event,
    ExplainRequest,
    Failed,
    PrepareRequest,
    Result,
    StatsReport,
    Status,
    Unloaded,
    WebAddress,
)

_SILENCE_LIMIT_S = 60.0
"""The daemon sends something at least every ten seconds while it answers."""

T = TypeVar("T")


def _ignore(_: str) -> None:
    pass


class Client:
    """A caller of this user's daemon; make it by `connect`."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    @classmethod
    async def connect(cls, *, start: bool = True, notice: Callable[[str], None] = _ignore) -> Self:
        """A client whose daemon has answered.

        With `start`, a daemon is started if there is none, and an idle one of another version is
        replaced, which `notice` is told.

        Raises:
            DaemonUnavailable: there is no daemon, and none was to be or could be started.
            VersionMismatch: a daemon of another protocol is at work.
        """
        client = cls(_http())
        try:
            if start:
                await launch.ensure(client._http, notice)
            elif await launch.find(client._http) is None:
                raise DaemonUnavailable(
                    "no daemon is running", "`copydraft daemon start` starts one"
                )
        except BaseException:
            await client.close()
            raise
        return client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    def edit(self, request: EditRequest) -> AsyncGenerator[Event]:
        """Events of an edit, the last an EditResult. Closing the generator cancels the request.

        Raises:
            CopydraftError: what the daemon says of the request.
            DaemonUnavailable: the daemon went away.
        """
        return self._stream("/v1/edit", request)

    def explain(self, request: ExplainRequest) -> AsyncGenerator[Event]:
        """As `edit`; the last event is an ExplainResult."""
        return self._stream("/v1/explain", request)

    def complete(self, request: CompleteRequest) -> AsyncGenerator[Event]:
        """As `edit`; the last event is a CompleteResult."""
        return self._stream("/v1/complete", request)

    def chat(self, request: ChatRequest) -> AsyncGenerator[Event]:
        """As `edit`; the last event is a ChatResult."""
        return self._stream("/v1/chat", request)

    def prepare(self, request: PrepareRequest) -> AsyncGenerator[Event]:
        """Have a prompt read before it is asked for; the last event is Prepared.

        Raises:
            Cancelled: any other request came, which it gives way to.
            CopydraftError: as for `edit`.
        """
        return self._stream("/v1/prepare", request)

    async def documents(self, updates: DocumentUpdates) -> DocumentsTaken:
        """Say what happened to open documents. One call after the other: they come in order.

        Raises:
            CopydraftError: the daemon refuses them, or is not there.
        """
        body = _encoded(updates)
        return await self._get("POST", "/v1/documents", DocumentsTaken, content=body)

    async def status(self) -> Status:
        return await self._get("GET", "/v1/status", Status)

    async def stats(self, days: int | None = None) -> StatsReport:
        """Statistics of the last `days` days, today included; None: all."""
        query = {} if days is None else {"days": days}
        return await self._get("GET", "/v1/stats", StatsReport, params=query)

    async def open_web(self) -> WebAddress:
        """An address of the statistics page, which the daemon serves from now on.

        Raises:
            NetworkProblem: it cannot listen on the loopback device.
        """
        return await self._get("POST", "/v1/web", WebAddress)

    async def clear_stats(self) -> None:
        await self._call("DELETE", "/v1/stats")

    async def unload(self) -> bool:
        """Free the model's memory once running requests have ended; False if none was loaded."""
        return (await self._get("POST", "/v1/unload", Unloaded, timeout=None)).freed

    async def stop(self) -> None:
        """End the daemon, whatever its version; return when its process is gone.

        Raises:
            DaemonUnavailable: it does not end.
        """
        await self._call("POST", "/v1/stop")
        await launch.gone()

    async def stop_if_idle(self) -> bool:
        """As `stop`, unless a request runs or waits: False then, and it goes on."""
        return await launch.stop_if_idle(self._http)

    async def _stream(
        self,
        path: str,
        request: EditRequest | ExplainRequest | CompleteRequest | ChatRequest | PrepareRequest,
    ) -> AsyncGenerator[Event]:
        body = _encoded(request)
        call = httpx_sse.aconnect_sse(self._http, "POST", path, content=body)
        try:
            async with call as source:
                if not source.response.is_success:
                    await source.response.aread()
                    _raise_fault(source.response)
                async with aclosing(source.aiter_sse()) as messages:
                    async for message in messages:
                        event = protocol.decode_event(message.data)
                        if isinstance(event, Failed):
                            raise event.error()
                        yield event
                        if isinstance(event, Result):
                            return
        except httpx.ConnectError as error:
            raise _not_running() from error
        except httpx.TransportError as error:
            raise _went_away() from error
        raise _went_away()

    async def _get(self, method: str, path: str, kind: type[T], **options: Any) -> T:
        response = await self._call(method, path, **options)
        daemon = response.headers.get(VERSION_HEADER)
        if daemon != str(PROTOCOL_VERSION):
            raise protocol.version_mismatch(client=PROTOCOL_VERSION, daemon=int(daemon))
        return msgspec.json.decode(response.content, type=kind)

    async def _call(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            response = await self._http.request(method, path, **options)
        except httpx.ConnectError as error:
            raise _not_running() from error
        except httpx.TransportError as error:
            raise DaemonUnavailable(
                "the daemon went away or does not answer", "run the command again"
            ) from error
        if not response.is_success:
            _raise_fault(response)
        return response


def _encoded(request: msgspec.Struct) -> bytes:
    try:
        return protocol.encode(request)
    except UnicodeEncodeError as error:
        raise BadRequest(
            "the request holds characters that UTF-8 cannot express",
            "is the file's name or text in another encoding?",
        ) from error


def _http() -> httpx.AsyncClient:
    # Without TLS there are no certificates to read, which would take 0.1 s. Connections are made
    # anew, since the daemon may close an idle one just when it is used again.
    transport = httpx.AsyncHTTPTransport(
        uds=str(paths.socket_path()),
        verify=False,
        limits=httpx.Limits(max_keepalive_connections=0),
    )
    return httpx.AsyncClient(
        transport=transport,
        base_url="http://copydraft",
        headers={VERSION_HEADER: str(PROTOCOL_VERSION)},
        timeout=httpx.Timeout(_SILENCE_LIMIT_S, pool=None),
        trust_env=False,
    )


def _raise_fault(response: httpx.Response) -> NoReturn:
    try:
        raise msgspec.json.decode(response.content, type=Failed).error()
    except msgspec.DecodeError:
        raise DaemonUnavailable(
            f"the daemon answered HTTP {response.status_code}", f"see {paths.log_file()}"
        ) from None


def _not_running() -> DaemonUnavailable:
    return DaemonUnavailable("the daemon is not running", "run the command again")


def _went_away() -> DaemonUnavailable:
    return DaemonUnavailable(
        "the daemon went away while it wrote the answer", f"run it again, or see {paths.log_file()}"
    )
