"""What the index needs of a tokenizer and of an answer format: small protocols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class BulkTokenizer(Protocol):
    """Tokens of texts as the engine makes them (`models.tokenizer`, `engine.bulk`)."""

    @property
    def fingerprint(self) -> str:
        """Of all that decides about the tokens."""
        ...

    @property
    def reach(self) -> int | None:
        """How far from a change, in characters, cuts between words may move; None: any distance."""
        ...

    @property
    def cut_at_lines(self) -> bool:
        """Whether a word always ends where a line begins with something else than a blank."""
        ...

    def encode_many(self, texts: Sequence[str]) -> list[NDArray[np.uint32]]: ...

    def encode_one(self, text: str) -> list[int]: ...


class Printing(NamedTuple):
    """How documents are printed in one answer format.

    For use in the indexing process, `printed` must be a function of a module or a method of a
    value that can be pickled.
    """

    name: str
    """Of the format and its version: another name is another index."""
    field: str
    """Where in an answer such text stands: "file", "new", …"""
    printed: Callable[[str], str]
    r"""The document's text (`\n` line ends only) as the model would print it, opening included."""


def plain_text(text: str) -> str:
    return text


PLAIN = Printing("plain", "file", plain_text)
"""The text as it is."""
