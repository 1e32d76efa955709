"""An API as OpenAI's, for coding agents: on the daemon's socket and, if wanted, on a port.

| route                      | body                | answer                                        |
| -------------------------- | ------------------- | --------------------------------------------- |
| POST /v1/chat/completions  | see openai_request  | chat.completion, or a stream of its chunks    |
| POST /v1/completions       | the same            | text_completion, or a stream of its one chunk |
| GET /v1/models             |                     | list of models, the default first             |
| GET /v1/models/{id}        |                     | one of them                                   |

Faults have OpenAI's shape and an HTTP status over 399; a stream that has begun ends with one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

import msgspec
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from copydraft.api import bodies, openai_faults, openai_models, openai_request, stream
from copydraft.api.last import LastAnswers
from copydraft.api.openai_answer import Answer, ChatAnswer, TextAnswer
from copydraft.api.openai_request import Wanted
from copydraft.api.stream import KEEP_ALIVE, Asked, Desk, Watch
from copydraft.config import Config
from copydraft.protocol import (
    ChatResult,
    CompleteResult,
    Delta,
    Event,
    Failed,
    ModelStatus,
    Prefill,
    Result,
)
from copydraft.serving.service import Service

T = TypeVar("T")


class OpenAiApi:
    """The routes, over a service and the desk where its requests are handed in."""

    def __init__(self, service: Service, desk: Desk, last: LastAnswers, config: Config) -> None:
        self._service = service
        self._desk = desk
        self._last = last
        self._config = config

    def routes(self) -> list[Route]:
        """They tell faults in OpenAI's shape, in whatever application they are."""
        middleware = [Middleware(ExceptionMiddleware, handlers=openai_faults.HANDLERS)]

        def route(path: str, endpoint: Callable[..., Any], method: str) -> Route:
            return Route(path, endpoint, methods=[method], middleware=middleware)

        return [
            route("/v1/chat/completions", self.chat, "POST"),
            route("/v1/completions", self.completion, "POST"),
            route("/v1/models", self.models, "GET"),
            route("/v1/models/{name:path}", self.model, "GET"),
        ]

    async def chat(self, request: Request) -> Response:
        wanted = await _read(request, openai_request.chat)
        answer = ChatAnswer(include_usage=wanted.include_usage)
        return _Reply(self._desk, wanted, answer, self._model_name, self._last.follow("chat", ""))

    async def completion(self, request: Request) -> Response:
        wanted = await _read(request, openai_request.completion)
        answer = TextAnswer(include_usage=wanted.include_usage)
        return _Reply(self._desk, wanted, answer, self._model_name)

    async def models(self, _: Request) -> Response:
        found = await asyncio.to_thread(openai_models.listed, self._config, self._loaded)
        return _json({"object": "list", "data": found})

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        return _json(await asyncio.to_thread(openai_models.find, self._config, self._loaded, name))

    def _model_name(self, asked: str, event: Event | None) -> str:
        """The model that answers, as far as the latest `event` of a request for `asked` tells."""
        if self._loaded and isinstance(event, Prefill | Delta):
            return self._loaded.name
        # What is loaded now may be another, which is in use.
        return asked or openai_models.default_name(self._config)

    @property
    def _loaded(self) -> ModelStatus | None:
        return self._service.snapshot().model


class _Reply(Response):
    """Hands the request in when the response starts, and cancels it whenever the response ends."""

    def __init__(
        self,
        desk: Desk,
        wanted: Wanted,
        answer: Answer,
        model_name: Callable[[str, Event | None], str],
        watch: Watch | None = None,
    ) -> None:
        super().__init__()
        self._desk = desk
        self._wanted = wanted
        self._answer = answer
        self._model_name = model_name
        self._watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._desk.hand_in(self._wanted.request, self._watch) as asked:
            event = await _unless_left(receive, self._first(asked))
            response: Response
            if isinstance(event, Failed):
                response = openai_faults.answer(event.error())
            elif self._wanted.stream:
                response = StreamingResponse(
                    self._frames(event, asked), media_type="text/event-stream"
                )
            else:
                response = _json(self._answer.whole(event))
            await response(scope, receive, send)

    async def _first(self, asked: Asked) -> Event | None:
        """The event that decides on the HTTP status; None in a stream that has to begin without.

        A stream waits as long as its client can be left without a sign of life: what is wrong with
        a request is known by then, unless a model has to be loaded first.
        """
        if not self._wanted.stream:
            return await asked.next_that(lambda event: isinstance(event, Result | Failed))
        try:
            async with asyncio.timeout(stream.KEEP_ALIVE_S):
                return await asked.next_that(
                    lambda event: isinstance(event, Prefill | Delta | Result | Failed)
                )
        except TimeoutError:
            return None

    async def _frames(self, event: Event | None, asked: Asked) -> AsyncIterator[bytes]:
        asked_for = self._wanted.request.generation.model
        self._answer.model = self._model_name(asked_for, event)
        writes = False
        for chunk in self._answer.opening():
            yield _frame(chunk)
        while True:
            chunks: list[Any] = []
            match event:
                case Delta():
                    if not writes:
                        writes = True
                        self._answer.model = self._model_name(asked_for, event)
                    chunks = self._answer.more(event)
                case Failed():
                    yield _frame(openai_faults.error_of(event.error()))
                    return
                case ChatResult() | CompleteResult():
                    for chunk in self._answer.closing(event):
                        yield _frame(chunk)
                    yield b"data: [DONE]\n\n"
                    return
            for chunk in chunks:
                yield _frame(chunk)
            if not chunks:
                yield KEEP_ALIVE
            event = await asked.next()


async def _unless_left(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns; it is cancelled when the client leaves.

    Raises:
        ClientDisconnect: the client left.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_left(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _read(request: Request, read: Callable[[bytes, Headers], Wanted]) -> Wanted:
    return read(await bodies.read(request), request.headers)


def _frame(chunk: object) -> bytes:
    return b"data: " + msgspec.json.encode(chunk) + b"\n\n"


def _json(answer: object) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")
