"""Explanations that may be asked on about: their lines, and what was said so far."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from typing import NamedTuple

from copydraft.errors import BadRequest
from copydraft.protocol import Region, Turn
from copydraft_lsp.regions import Where

_MOST = 16


class Conversation(NamedTuple):
    """Questions and answers about lines as they were when the first was asked."""

    region: Region
    where: Where
    workspace: str
    """Root of the workspace that the lines belong to; "": none."""
    turns: tuple[Turn, ...] = ()


class Conversations:
    """The latest, by ids that no other server gives."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Conversation] = OrderedDict()

    def find(self, session: str) -> Conversation:
        """The conversation so far.

        Raises:
            BadRequest: the id is unknown, or of a conversation that was dropped.
        """
        if session not in self._kept:
            raise BadRequest("this explanation cannot be asked on about any more", "explain again")
        return self._kept[session]

    def note(self, session: str, talk: Conversation, turn: Turn) -> str:
        """Add a turn; the id to go on with, which is `session` unless that is ""."""
        before = self._kept.pop(session, talk)
        session = session or uuid.uuid4().hex
        self._kept[session] = before._replace(turns=(*before.turns, turn))
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return session
