"""One request to the daemon: progress and deltas on the way, the result at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import msgspec
from lsprotocol import types

from copydraft.client import Client
from copydraft.protocol import Delta, EditResult, Event, ExplainResult, Notice, Region
from copydraft_lsp.jobs import Job
from copydraft_lsp.preview import Preview
from copydraft_lsp.progress import Progress, summary
from copydraft_lsp.regions import Where

if TYPE_CHECKING:
    from copydraft_lsp.server import CopydraftServer

DELTA = "copydraft/delta"

_INTERVAL_S = 0.04

R = TypeVar("R", EditResult, ExplainResult)
T = TypeVar("T")
Call = Callable[[Client], AsyncGenerator[Event]]


class About(NamedTuple):
    """What a request is about, as its client is told."""

    id: str
    """The client's; "": it gave none, and gets no deltas."""
    kind: Literal["edit", "explain"]
    where: Callable[[], Where]
    lines: Sequence[str] | None = None
    """The region's, for deltas that carry the edit so far; None: they carry the text alone."""


class DeltaParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Parameters of `copydraft/delta`: all that was written so far, not only what is new."""

    id: str
    kind: str
    """`edit` or `explain`."""
    uri: str
    version: int
    """Of the document when this was sent; the lines below are lines of that version."""
    start: int
    end: int
    """The region: lines [start, end)."""
    text: str
    """The raw answer so far; Markdown for an explanation."""
    tokens: int
    spans: list[Any]
    """Parts of `text` and what they were copied from, in code points; corpus "": newly written."""
    hunks: list[Any] = []
    """Of an edit: put `lines`, without line ends, in place of lines [start, end)."""


class Deltas:
    """Sends deltas for a client that gave its request an id."""

    def __init__(self, server: CopydraftServer, about: About, region: Region) -> None:
        self._server = server
        self._about = about
        self._preview = Preview(region, about.lines or ())
        self._loop = asyncio.get_running_loop()
        self._sent_at = 0.0
        self._held_back: asyncio.TimerHandle | None = None
        """What sends the part of the answer that is not sent yet."""

    def add(self, event: Delta) -> None:
        """Take more of the answer; a fast model's are sent together, a slow one's at once."""
        if not self._about.id:
            return
        self._preview.add(event.text, event.spans, event.tokens)
        if self._held_back is None:
            due = self._sent_at + _INTERVAL_S
            if due <= self._loop.time():
                self._send()
            else:
                self._held_back = self._loop.call_at(due, self._send)

    def end(self) -> None:
        """Send what was held back."""
        if self._held_back:
            self._send()

    def stop(self) -> None:
        """Send nothing more."""
        if self._held_back:
            self._held_back.cancel()
            self._held_back = None

    def _send(self) -> None:
        self.stop()
        self._sent_at = self._loop.time()
        preview, where = self._preview, self._about.where()
        hunks = preview.hunks() if self._about.lines is not None else []
        params = DeltaParams(
            id=self._about.id,
            kind=self._about.kind,
            uri=where.uri,
            version=where.version,
            start=where.start,
            end=where.end,
            text=preview.text,
            tokens=preview.tokens,
            spans=preview.spans,
            hunks=[
                {"start": where.start + a, "end": where.start + b, "lines": lines}
                for a, b, lines in hunks
            ],
        )
        self._server.protocol.notify(DELTA, msgspec.to_builtins(params))


async def ask(
    server: CopydraftServer,
    job: Job,
    call: Call,
    kind: type[R],
    region: Region,
    about: About,
    token: types.ProgressToken | None,
) -> R:
    """The result of one request, its progress shown and its deltas sent.

    The daemon is started if need be. Cancelling this task ends its work within one pass.

    Raises:
        CopydraftError: what the daemon says of the request, or that it went away.
    """
    progress = Progress(server, job.cancel)
    deltas = Deltas(server, about, region)
    progress.begin(f"copydraft: {about.kind}", token)

    def take(event: Event) -> None:
        progress.show(event)
        if isinstance(event, Delta):
            deltas.add(event)

    ended = "failed"
    try:
        result = await result_of(server, call, kind, take)
        deltas.end()
        ended = summary(result.stats)
    except asyncio.CancelledError:
        ended = "cancelled"
        raise
    finally:
        deltas.stop()
        progress.end(ended)
    return result


async def result_of(
    server: CopydraftServer,
    call: Callable[[Client], AsyncGenerator[Event]],
    kind: type[T],
    take: Callable[[Event], object] = lambda _: None,
    *,
    start: bool = True,
) -> T:
    """The result of one request; `take` gets the events before it, notices go to the log, too.

    Raises:
        DaemonUnavailable: the daemon went away; without `start`, also: none runs.
        CopydraftError: what the daemon says of the request.
    """

    def notice(message: str) -> None:
        take(Notice(message=message))
        server.note(message)

    async with await Client.connect(start=start, notice=notice) as client:
        server.sender.daemon_is_there()
        async with aclosing(call(client)) as events:
            async for event in events:
                if isinstance(event, kind):
                    return event
                take(event)
                if isinstance(event, Notice):
                    server.note(event.message)
    raise AssertionError("the client's stream ends with a result, or raises")
