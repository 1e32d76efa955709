"""What all wire messages have in common."""

from __future__ import annotations

from typing import Literal, dataclass_transform

import msgspec

Kind = Literal["edit", "explain", "complete", "chat"]

EditFormat = Literal["fence", "search-replace", "unified-diff", "tool-call", "plain"]
"""How the model writes an edit: `copydraft.emission` has one module for each."""


# Said again for type checkers: to them, a subclass does not inherit these two from its base.
@dataclass_transform(frozen_default=True, kw_only_default=True)
class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Wire messages are immutable, named, and strict about types."""


def encode(message: msgspec.Struct) -> bytes:
    return msgspec.json.encode(message)
