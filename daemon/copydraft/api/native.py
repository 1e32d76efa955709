"""Our own protocol over HTTP: requests in, server-sent events and small JSON answers out.

| route              | body                        | answer                                   |
| ------------------ | --------------------------- | ---------------------------------------- |
| POST /v1/edit      | EditRequest                 | stream of Event, the last a result       |
| POST /v1/explain   | ExplainRequest              | the same                                 |
| POST /v1/complete  | CompleteRequest             | the same                                 |
| POST /v1/chat      | ChatRequest                 | the same                                 |
| POST /v1/prepare   | PrepareRequest              | the same, the last Prepared              |
| POST /v1/documents | DocumentUpdates             | DocumentsTaken                           |
| GET /v1/status     |                             | Status                                   |
| GET /v1/stats      | query: days=N, kind=K       | StatsReport                              |
| DELETE /v1/stats   |                             | 204                                      |
| GET /v1/last       |                             | LastAnswer, null where there is none     |
| POST /v1/web       |                             | WebAddress (made by `api/web.py`)        |
| POST /v1/unload    |                             | Unloaded                                 |
| POST /v1/stop      | query: if_idle=1            | 202; 409 if it is not idle               |

Every fault is a Failed, with an HTTP status over 399 or as the stream's last event.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from copydraft import protocol
from copydraft.api import bodies
from copydraft.api.last import LastAnswers
from copydraft.api.stream import Desk, EventStream
from copydraft.errors import BadRequest
from copydraft.index.store import StateStore
from copydraft.protocol import (
    ChatRequest,
    CompleteRequest,
    DocumentsTaken,
    DocumentUpdates,
    EditRequest,
    ExplainRequest,
    PrepareRequest,
    Status,
    Unloaded,
)
from copydraft.serving.service import Service

MOST_DAYS = 36_500

R = TypeVar(
    "R",
    EditRequest,
    ExplainRequest,
    CompleteRequest,
    ChatRequest,
    PrepareRequest,
    DocumentUpdates,
)


class NativeApi:
    """The routes, over a service and a store; `status` and `stop` are the daemon's own."""

    def __init__(
        self,
        service: Service,
        store: StateStore,
        status: Callable[[], Status],
        stop: Callable[[], None],
    ) -> None:
        self._service = service
        self._store = store
        self._status = status
        self._stop = stop
        self.desk = Desk(service)
        self.last = LastAnswers()

    def routes(self) -> list[Route]:
        return [
            Route("/v1/edit", self.edit, methods=["POST"]),
            Route("/v1/explain", self.explain, methods=["POST"]),
            Route("/v1/complete", self.complete, methods=["POST"]),
            Route("/v1/chat", self.chat, methods=["POST"]),
            Route("/v1/prepare", self.prepare, methods=["POST"]),
            Route("/v1/documents", self.documents, methods=["POST"]),
            *self.reading_routes(),
            Route("/v1/stats", self.clear_stats, methods=["DELETE"]),
            Route("/v1/unload", self.unload, methods=["POST"]),
            Route("/v1/stop", self.stop, methods=["POST"]),
        ]

    def reading_routes(self) -> list[Route]:
        """Those that tell how things are and change nothing."""
        return [
            Route("/v1/status", self.status, methods=["GET"]),
            Route("/v1/stats", self.stats, methods=["GET"]),
            Route("/v1/last", self.last_answer, methods=["GET"]),
        ]

    async def edit(self, request: Request) -> Response:
        asked = await _read(request, EditRequest)
        watch = self.last.follow("edit", asked.region.path)
        return EventStream(self.desk, asked, watch)

    async def explain(self, request: Request) -> Response:
        asked = await _read(request, ExplainRequest)
        watch = self.last.follow("explain", asked.region.path)
        return EventStream(self.desk, asked, watch)

    async def complete(self, request: Request) -> Response:
        asked = await _read(request, CompleteRequest)
        return EventStream(self.desk, asked)

    async def chat(self, request: Request) -> Response:
        asked = await _read(request, ChatRequest)
        return EventStream(self.desk, asked, self.last.follow("chat", ""))

    async def prepare(self, request: Request) -> Response:
        asked = await _read(request, PrepareRequest)
        return EventStream(self.desk, asked)

    async def documents(self, request: Request) -> Response:
        updates = await _read(request, DocumentUpdates)
        resend = self._service.documents(updates)
        return _json(DocumentsTaken(pid=os.getpid(), resend=resend))

    async def status(self, _: Request) -> Response:
        return _json(self._status())

    async def stats(self, request: Request) -> Response:
        days = _days(request.query_params.get("days"))
        kind = request.query_params.get("kind", "")
        return _json(await asyncio.to_thread(self._store.report, days, kind))

    async def last_answer(self, _: Request) -> Response:
        answer = self.last.answer()
        return _json(answer) if answer else Response(b"null", media_type="application/json")

    async def clear_stats(self, _: Request) -> Response:
        await asyncio.to_thread(self._store.clear)
        self.last.forget()
        return Response(status_code=204)

    async def unload(self, _: Request) -> Response:
        freed = await asyncio.to_thread(self._service.unload)
        self.last.forget()
        return _json(Unloaded(freed=freed))

    async def stop(self, request: Request) -> Response:
        status = self._status()
        if "if_idle" in request.query_params and status.active + status.waiting > 0:
            raise HTTPException(409, "the daemon is at work")
        self._stop()
        return Response(status_code=202)


async def _read(request: Request, kind: type[R]) -> R:
    try:
        return msgspec.json.decode(await bodies.read(request), type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRequest(
            f"not a valid {kind.__name__}: {error}", "see copydraft's protocol"
        ) from error


def _days(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= MOST_DAYS:
        raise BadRequest(f"days is {text!r}", f"give a number from 1 to {MOST_DAYS}")
    return int(text)


def _json(message: msgspec.Struct) -> Response:
    return Response(protocol.encode(message), media_type="application/json")
