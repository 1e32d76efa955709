"""Sends the open documents to the daemon while they are typed in, so that they are drafted from.

What a document lacks there waits in its `Outbox`; one task sends what waits, one call after the
other. A daemon is never started for this. One that ends loses nothing: its successor is sent all.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from copydraft.client import Client
from copydraft.errors import CopydraftError, DaemonUnavailable
from copydraft.protocol import (
    DocumentClosed,
    DocumentOpened,
    DocumentsTaken,
    DocumentUpdate,
    DocumentUpdates,
)
from copydraft.secret_names import is_secret
from copydraft_lsp.documents import Document
from copydraft_lsp.outbox import Outbox
from copydraft_lsp.places import Place, folders, place_of

if TYPE_CHECKING:
    from copydraft_lsp.server import CopydraftServer

_log = logging.getLogger(__name__)

_COLLECT_S = 0.01
"""Keystrokes within so long are sent together, on a slow machine within what a call takes."""

_LONGEST_PAUSE_S = 0.2

_RETRY_S = 3.0
"""So long a daemon that was not there is not looked for again, unless a command starts one."""

_CALL_CHARACTERS = 1 << 20
"""Text sent in one call, about: writing it as JSON holds up the editor's requests."""


class _Call(NamedTuple):
    updates: DocumentUpdates
    whole: set[Outbox]
    """Of these, all of the text is sent."""
    closed: list[Place]


class Sender:
    """Follows the documents of one server."""

    def __init__(self, server: CopydraftServer) -> None:
        self._server = server
        self._outboxes: set[Outbox] = set()
        self._waiting: dict[Outbox, None] = {}
        """Those with something to send, in the order of their changes."""
        self._closed: dict[Place, None] = {}
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self._daemon = 0
        """Process that the documents were last sent to."""
        self._unsure = False
        """It may be another by now."""
        self._retry_at = 0.0
        self._retry: asyncio.TimerHandle | None = None
        self._told: set[str] = set()

    def start(self) -> None:
        """Send from now on; to be called in the event loop."""
        self._task = self._task or asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Send no more."""
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._disconnect()

    def follow(self, document: Document) -> None:
        """Send a document that was just opened, and what becomes of it."""
        outbox = Outbox(document, self._wake)
        self._outboxes.add(outbox)
        self._wake(outbox)

    def look_again(self) -> None:
        """What is to be sent, or where it belongs, may be another now."""
        self._waiting.update(dict.fromkeys(self._outboxes))
        self._woken.set()

    def daemon_is_there(self) -> None:
        """A request has reached a daemon, perhaps a new one that knows no documents."""
        self._retry_at = 0.0
        self._unsure = True
        self._woken.set()

    def may_be_sent(self, document: Document) -> bool:
        """Whether the user lets the document be read unasked."""
        settings = self._server.settings
        place = place_of(document, folders(self._server))
        name = place.name if place else document.uri
        return not (
            document.language in settings.disabled_languages
            or document.ambiguous
            or is_secret(name)
            or is_secret(document.uri)  # without the suffix of its language
            or settings.excludes(name)
        )

    def _wake(self, outbox: Outbox) -> None:
        if outbox.closed:
            self._outboxes.discard(outbox)
            self._waiting.pop(outbox, None)
            self._withdraw(outbox)
        else:
            self._waiting[outbox] = None
        self._woken.set()

    def _withdraw(self, outbox: Outbox) -> None:
        """Have the daemon close a document, unless it has another of that name by now."""
        place, outbox.sent = outbox.sent, None
        if place and all(other.sent != place for other in self._outboxes):
            self._closed[place] = None

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        took = 0.0
        while True:
            await self._woken.wait()
            self._woken.clear()
            if time.monotonic() < self._retry_at:
                if self._retry is None:
                    wait = self._retry_at - time.monotonic()
                    self._retry = loop.call_later(wait, self._look_for_daemon)
                continue
            await asyncio.sleep(max(_COLLECT_S, took))
            started = time.monotonic()
            try:
                await self._send()
            except DaemonUnavailable:
                await self._lose_daemon()
            except CopydraftError as fault:
                self._tell(fault.message)
                await self._lose_daemon()
            except Exception as error:
                if self._tell(f"a fault of the language server's own: {type(error).__name__}"):
                    _log.exception("open documents were not sent")
                await self._lose_daemon()
            took = min(_LONGEST_PAUSE_S, time.monotonic() - started)

    def _tell(self, why: str) -> bool:
        """Write into the editor's log why nothing is sent, once; whether it is new."""
        is_new = why not in self._told
        if is_new:
            self._told.add(why)
            self._server.note(f"open documents are not drafted from: {why}")
        return is_new

    def _look_for_daemon(self) -> None:
        self._retry = None
        self._woken.set()

    async def _send(self) -> None:
        """Send all that waits.

        Raises:
            DaemonUnavailable: no daemon runs.
            CopydraftError: it takes no documents.
        """
        if self._client is None:
            self._client = await Client.connect(start=False)
        if self._unsure:
            self._unsure = False
            pid = (await self._client.status()).pid
            if pid != self._daemon:
                self._daemon = pid
                self._lose(self._outboxes)
        while call := self._next_call():
            try:
                taken = await self._client.documents(call.updates)
            except DaemonUnavailable:
                # It may live on. What is open is sent again whole, what is closed is not.
                self._closed = dict.fromkeys(call.closed) | self._closed
                raise
            self._take(call, taken)

    def _next_call(self) -> _Call | None:
        """What waits in one workspace, as much as one call carries; None: nothing waits."""
        roots = folders(self._server)
        workspace = next((place.workspace for place in self._closed), "")
        updates: list[DocumentUpdate] = []
        whole: set[Outbox] = set()
        size = 0
        for outbox in [*self._waiting]:
            place = place_of(outbox.document, roots)
            if outbox.is_large or not self.may_be_sent(outbox.document):
                place = None
            if outbox.sent != place:
                self._withdraw(outbox)
            if place and workspace not in ("", place.workspace):
                continue
            del self._waiting[outbox]
            if place is None or (update := outbox.take(place)) is None:
                continue
            workspace = place.workspace
            updates.append(update)
            if isinstance(update, DocumentOpened):
                whole.add(outbox)
                size += len(update.text)
                if size > _CALL_CHARACTERS:
                    break
        # Some may have been withdrawn just now.
        workspace = workspace or next((place.workspace for place in self._closed), "")
        closed = [place for place in self._closed if place.workspace == workspace]
        for place in closed:
            del self._closed[place]
        updates[:0] = [DocumentClosed(name=place.name) for place in closed]
        if not updates:
            return None
        message = DocumentUpdates(workspace=workspace, owner=os.getpid(), updates=updates)
        return _Call(message, whole, closed)

    def _take(self, call: _Call, taken: DocumentsTaken) -> None:
        """Have what the daemon turns out to lack sent again."""
        workspace = call.updates.workspace
        lost = {
            outbox
            for outbox in self._outboxes - call.whole
            if taken.pid != self._daemon
            or (
                outbox.sent
                and outbox.sent.workspace == workspace
                and outbox.sent.name in taken.resend
            )
        }
        self._daemon = taken.pid
        self._lose(lost)

    def _lose(self, lost: Iterable[Outbox]) -> None:
        for outbox in lost:
            outbox.lose()
            self._waiting[outbox] = None

    async def _lose_daemon(self) -> None:
        await self._disconnect()
        self._retry_at = time.monotonic() + _RETRY_S
        self._lose(self._outboxes)
        if self._waiting:
            self._woken.set()

    async def _disconnect(self) -> None:
        if self._client:
            await self._client.close()
            self._client = None
