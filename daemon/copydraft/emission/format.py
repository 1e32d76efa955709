"""What every answer format can do: print a text as the model would, and read it back."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Parsed(NamedTuple):
    """The region's new text as the model wrote it, which is `answer[start:end]`."""

    text: str
    start: int
    end: int


class FormatReader(Protocol):
    """Follows one answer as it is written."""

    def feed(self, delta: str) -> bool:
        """Take more of the answer; True once it is complete and decoding may stop."""
        ...


class EmissionFormat(Protocol):
    """How the model writes a region's text in its answer. Texts have `\\n` line ends only."""

    @property
    def name(self) -> str: ...

    @property
    def opening(self) -> str:
        """What every answer begins with: prompts end in it."""
        ...

    def emit(self, text: str) -> str:
        """What the model prints for `text`, from the first character of its answer to the last."""
        ...

    def reader(self) -> FormatReader: ...

    def parse(self, answer: str, *, ended: bool) -> Parsed:
        """The text out of an answer; `ended`: the model itself ended it, it was not cut off.

        Raises:
            AnswerRefused: there is no text to be found, or its end is missing.
        """
        ...
