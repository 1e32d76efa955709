"""One request's events, from the engine's thread to the client, as server-sent events."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from copydraft.protocol import Event, Failed, Result, encode
from copydraft.serving.service import Request, Service

_log = logging.getLogger(__name__)

KEEP_ALIVE_S = 10.0
"""A comment goes out after so long without an event, so that each side notices a dead peer."""


class EventStream(StreamingResponse):
    """Hands the request in when the response starts, and cancels it whenever the response ends.

    Events wait in memory for a slow reader, who can hold up neither the engine nor others; the
    longest answer bounds them.
    """

    def __init__(
        self,
        service: Service,
        request: Request,
        open_streams: set[EventStream],
        watch: Callable[[Event], None] | None = None,
    ) -> None:
        """`open_streams` holds this stream while it is being written; `watch` gets its events."""
        super().__init__(self._frames(), media_type="text/event-stream")
        self._service = service
        self._request = request
        self._open_streams = open_streams
        self._watch = watch
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._outcome = "its client left"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        started = time.monotonic()

        def emit(event: Event) -> None:
            loop.call_soon_threadsafe(self.put, event)

        ticket = self._service.submit(self._request, emit)
        self._open_streams.add(self)
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._open_streams.remove(self)
            ticket.cancel()
            name, seconds = type(self._request).__name__, time.monotonic() - started
            _log.info("%s ended after %.1f s: %s", name, seconds, self._outcome)

    def put(self, event: Event) -> None:
        """Send `event` next; to be called in the event loop's thread."""
        if self._watch:
            self._watch(event)
        self._events.put_nowait(event)

    async def _frames(self) -> AsyncIterator[bytes]:
        while True:
            try:
                async with asyncio.timeout(KEEP_ALIVE_S):
                    event = await self._events.get()
            except TimeoutError:
                yield b": still here\n\n"
                continue
            yield b"data: " + encode(event) + b"\n\n"
            if isinstance(event, Result | Failed):
                self._outcome = event.code if isinstance(event, Failed) else "answered"
                return
