"""Requests in the service, and their events from the engine's thread to the client."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from copydraft.errors import CopydraftError
from copydraft.protocol import Event, Failed, Result, encode
from copydraft.serving.service import Request, Service

_log = logging.getLogger(__name__)

KEEP_ALIVE_S = 10.0
"""A comment goes out after so long without an event, so that each side notices a dead peer."""

KEEP_ALIVE = b": still here\n\n"

Watch = Callable[[Event], None]


class Asked:
    """The events of one request; for the event loop's thread.

    They wait in memory for a slow reader, who can hold up neither the engine nor others; the
    longest answer bounds them.
    """

    def __init__(self, watch: Watch | None) -> None:
        self._watch = watch
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self.outcome = "its client left"

    def put(self, event: Event) -> None:
        if self._watch:
            self._watch(event)
        self._events.put_nowait(event)

    async def next(self) -> Event | None:
        """The next event; None after `KEEP_ALIVE_S` without one."""
        try:
            async with asyncio.timeout(KEEP_ALIVE_S):
                event = await self._events.get()
        except TimeoutError:
            return None
        if isinstance(event, Result | Failed):
            self.outcome = event.code if isinstance(event, Failed) else "answered"
        return event

    async def next_that(self, is_wanted: Callable[[Event], bool]) -> Event:
        """The next event that is wanted; those before it are dropped."""
        while True:
            event = await self.next()
            if event is not None and is_wanted(event):
                return event


class Desk:
    """Where requests are handed in; it knows those whose answers are being written."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._open: set[Asked] = set()

    @contextlib.contextmanager
    def hand_in(self, request: Request, watch: Watch | None = None) -> Iterator[Asked]:
        """Have `request` answered inside the `with` block; leaving it cancels what still runs.

        `watch` gets every event.
        """
        loop = asyncio.get_running_loop()
        started = time.monotonic()
        asked = Asked(watch)

        def emit(event: Event) -> None:
            loop.call_soon_threadsafe(asked.put, event)

        ticket = self._service.submit(request, emit)
        self._open.add(asked)
        try:
            yield asked
        finally:
            self._open.remove(asked)
            ticket.cancel()
            name, seconds = type(request).__name__, time.monotonic() - started
            _log.info("%s ended after %.1f s: %s", name, seconds, asked.outcome)

    def end_all(self, why: CopydraftError) -> None:
        """Tell the clients of all open requests that there will be no answer."""
        for asked in self._open:
            asked.put(Failed.of(why))


class EventStream(StreamingResponse):
    """Hands the request in when the response starts, and cancels it whenever the response ends."""

    def __init__(self, desk: Desk, request: Request, watch: Watch | None = None) -> None:
        super().__init__(self._frames(), media_type="text/event-stream")
        self._desk = desk
        self._request = request
        self._watch = watch
        self._asked: Asked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._desk.hand_in(self._request, self._watch) as self._asked:
            await super().__call__(scope, receive, send)

    async def _frames(self) -> AsyncIterator[bytes]:
        while True:
            event = await self._asked.next()
            if event is None:
                yield KEEP_ALIVE
                continue
            yield b"data: " + encode(event) + b"\n\n"
            if isinstance(event, Result | Failed):
                return
