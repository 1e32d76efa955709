"""The documents that editors have open, by workspace: their texts as they are now."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from copydraft.protocol import (
    DocumentChanged,
    DocumentClosed,
    DocumentOpened,
    DocumentUpdates,
    TextChange,
)
from copydraft.secret_names import has_private_key, is_secret

LARGEST_CHARACTERS = 4_000_000
"""A larger document is not drafted from."""


class OpenDocument(NamedTuple):
    """A document as its editor has it."""

    owner: int
    """Id of the process that has it open."""
    version: int
    text: str | None
    """None: it holds secrets by its name or text, or is too large; nothing of it is kept."""
    changed: float
    """Seconds since 1970."""


class OpenDocuments:
    """All of them. Safe in any thread.

    A document that two editors have open is the one's that opened it last; the other is asked to
    send its text with its next change, and has it then.
    """

    def __init__(self, changed: Callable[[str, str], None]) -> None:
        """`changed` is told of the workspace and name of each document that was taken in."""
        self._changed = changed
        self._workspaces: dict[str, dict[str, OpenDocument]] = {}
        self._lock = threading.Lock()

    def take(self, updates: DocumentUpdates) -> list[str]:
        """Take in what an editor did; the documents of which it is to send all of the text."""
        resend: dict[str, None] = {}
        touched: dict[str, None] = {}
        with self._lock:
            documents = self._workspaces.setdefault(updates.workspace, {})
            for update in updates.updates:
                known = documents.get(update.name)
                if isinstance(update, DocumentClosed):
                    if known is None or known.owner != updates.owner:
                        continue
                    del documents[update.name]
                    resend.pop(update.name, None)
                elif (new := _become(known, update, updates.owner)) is not None:
                    documents[update.name] = new
                    resend.pop(update.name, None)
                else:
                    resend[update.name] = None
                    continue
                touched[update.name] = None
            if not documents:
                del self._workspaces[updates.workspace]
        self._tell(updates.workspace, touched)
        return list(resend)

    def of(self, workspace: str) -> dict[str, OpenDocument]:
        """By name; empty for a workspace that has none open."""
        with self._lock:
            return dict(self._workspaces.get(workspace, {}))

    def workspaces(self) -> list[str]:
        """Those in which something is open."""
        with self._lock:
            return list(self._workspaces)

    def close_left(self) -> None:
        """Close the documents of processes that have ended without closing them."""
        with self._lock:
            owners = {
                d.owner for documents in self._workspaces.values() for d in documents.values()
            }
            gone = {owner for owner in owners if not _lives(owner)}
            if not gone:
                return
            left = {
                workspace: [name for name, d in documents.items() if d.owner in gone]
                for workspace, documents in self._workspaces.items()
            }
            for workspace, names in left.items():
                for name in names:
                    del self._workspaces[workspace][name]
                if not self._workspaces[workspace]:
                    del self._workspaces[workspace]
        for workspace, names in left.items():
            self._tell(workspace, names)

    def _tell(self, workspace: str, names: Iterable[str]) -> None:
        for name in names:
            self._changed(workspace, name)


def _become(
    known: OpenDocument | None, update: DocumentOpened | DocumentChanged, owner: int
) -> OpenDocument | None:
    """The document after an update; None if that does not fit what is known."""
    text: str | None
    if isinstance(update, DocumentOpened):
        text = None if is_secret(update.name) else update.text
    elif known is None or known.owner != owner or update.version <= known.version:
        return None
    elif known.text is None:
        text = None
    else:
        text = _changed(known.text, update.changes)
        if text is None:
            return None
    if text is not None and (len(text) > LARGEST_CHARACTERS or has_private_key(text)):
        text = None
    return OpenDocument(owner, update.version, text, time.time())


def _changed(text: str, changes: Iterable[TextChange]) -> str | None:
    for change in changes:
        if not 0 <= change.start <= change.end <= len(text):
            return None
        text = text[: change.start] + change.text + text[change.end :]
    return text


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
