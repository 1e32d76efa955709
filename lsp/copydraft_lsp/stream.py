"""One request to the daemon: progress and deltas on the way, the result at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from lsprotocol import types

from copydraft.client import Client
from copydraft.protocol import Delta, EditResult, Event, ExplainResult, Notice
from copydraft_lsp.jobs import Job
from copydraft_lsp.preview import Preview
from copydraft_lsp.progress import Progress, summary
from copydraft_lsp.regions import TrackedRegion
from copydraft_lsp.target import as_region

if TYPE_CHECKING:
    from copydraft_lsp.server import CopydraftServer

DELTA = "copydraft/delta"

_INTERVAL_S = 0.04

R = TypeVar("R", EditResult, ExplainResult)
Call = Callable[[Client], AsyncGenerator[Event]]


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

    def __init__(
        self,
        server: CopydraftServer,
        name: str,
        kind: str,
        region: TrackedRegion,
        *,
        preview: bool,
    ) -> None:
        self._server = server
        self._name = name
        self._kind = kind
        self._region = region
        self._shown = preview
        self._preview = Preview(as_region(server, region))
        self._sent_at = 0.0

    def add(self, event: Delta) -> None:
        """Take more of the answer; a fast model's are sent together."""
        if not self._name:
            return
        self._preview.add(event.text, event.spans, event.tokens)
        if (now := time.monotonic()) - self._sent_at >= _INTERVAL_S:
            self._send()
            self._sent_at = now

    def end(self) -> None:
        """Send what was held back."""
        if self._name and self._preview.text:
            self._send()

    def _send(self) -> None:
        region, preview = self._region, self._preview
        hunks = preview.hunks() if self._shown else []
        params = DeltaParams(
            id=self._name,
            kind=self._kind,
            uri=region.document.uri,
            version=region.document.version,
            start=region.start,
            end=region.end,
            text=preview.text,
            tokens=preview.tokens,
            spans=preview.spans,
            hunks=[
                {"start": region.start + a, "end": region.start + b, "lines": lines}
                for a, b, lines in hunks
            ],
        )
        self._server.protocol.notify(DELTA, msgspec.to_builtins(params))


async def ask(
    server: CopydraftServer,
    job: Job,
    call: Call,
    kind: type[R],
    region: TrackedRegion,
    *,
    named: str,
    token: types.ProgressToken | None,
    preview: bool = False,
) -> R:
    """The result of one request; `named` is the client's id for it, "" if it gave none.

    With `preview`, deltas carry the edit so far.

    The daemon is started if need be. Cancelling this task ends its work within one pass.

    Raises:
        CopydraftError: what the daemon says of the request, or that it went away.
    """
    what = "edit" if kind is EditResult else "explain"
    progress = Progress(server, job.cancel)
    deltas = Deltas(server, named, what, region, preview=preview)
    progress.begin(f"copydraft: {what}", token)

    def notice(message: str) -> None:
        server.note(message)
        progress.show(Notice(message=message))

    ended = "failed"
    try:
        async with await Client.connect(notice=notice) as client, aclosing(call(client)) as events:
            async for event in events:
                progress.show(event)
                if isinstance(event, Delta):
                    deltas.add(event)
                elif isinstance(event, Notice):
                    server.note(event.message)
                elif isinstance(event, kind):
                    deltas.end()
                    ended = summary(event.stats)
                    return event
    except asyncio.CancelledError:
        ended = "cancelled"
        raise
    finally:
        progress.end(ended)
    raise AssertionError("the client's stream ends with a result, or raises")
