"""What every answer format can do: print a text as the model would, and read it back."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple, Protocol

from copydraft.errors import AnswerRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copydraft.protocol import EditFormat
    from copydraft.tokens import Tokenizer


class Part(NamedTuple):
    """`text` stands for `answer[start:end]`; where that is empty, it comes from the region."""

    text: str
    start: int
    end: int


class Printed(NamedTuple):
    """A document as the model prints it into one field of its answer.

    `before` stands in the answer right before it, and `text` ends with what closes the field:
    an old text thus never drafts what follows a new one. `tokens_after` makes the tokens.
    """

    field: str
    """"text" (the region's new text), "old", "new" or "path"."""
    before: str
    text: str


class FormatReader(Protocol):
    """Follows one answer as it is written, what every answer begins with included."""

    def feed(self, delta: str) -> bool:
        """Take more of the answer; True once it is complete and decoding may stop."""
        ...


class EmissionFormat(Protocol):
    r"""How the model writes a region's new text in its answer. Texts have `\n` line ends only."""

    @property
    def name(self) -> EditFormat: ...

    @property
    def opening(self) -> str:
        """What every answer begins with: prompts end in it. It holds no text of the user's."""
        ...

    @property
    def rewrites(self) -> bool:
        """The answer holds the region from start to end, not only what changes."""
        ...

    def emit(self, old: str, new: str) -> str:
        """What the model prints to make `new` of the region `old`, from first to last character.

        With `new` equal to `old` it is all of the region: what an answer copies from.
        """
        ...

    def printed(self, path: str, text: str) -> list[Printed]:
        """A document of any kind, as the model would print it into each field of its answer."""
        ...

    def reader(self) -> FormatReader: ...

    def parse(self, answer: str, region: str, *, ended: bool) -> list[Part]:
        """The region's new text, in parts; a last line may lack its newline, or have one too many.

        `ended`: the model itself ended the answer, it was not cut off.

        Raises:
            AnswerRefused: there is no edit to be found, its end is missing, or it is not of
                this region.
        """
        ...


def tokens_after(before: str, text: str, tokenizer: Tokenizer) -> list[int]:
    """Tokens of `text` as they stand behind `before`; where one token holds parts of both, it too.

    So `before`'s own tokens, as far as they stay, and these are the tokens of the whole.
    """
    alone = tokenizer.encode(before)
    whole = tokenizer.encode(before + text)
    same = takewhile(lambda pair: pair[0] == pair[1], zip(alone, whole, strict=False))
    return whole[sum(1 for _ in same) :]


def cut(parts: Sequence[Part], start: int, end: int) -> list[Part]:
    """The parts of [start, end) of the text that `parts` make up."""
    found = []
    at = 0
    for text, begin, stop in parts:
        a, b = max(start - at, 0), min(end - at, len(text))
        at += len(text)
        if a >= b:
            continue
        if len(text) == stop - begin:
            found.append(Part(text[a:b], begin + a, begin + b))
        else:
            found.append(Part(text[a:b], begin, stop))
    return found


def misplaced(message: str) -> AnswerRefused:
    """The fault of an answer that does not say, or says wrongly, which lines it changes."""
    return AnswerRefused(
        message,
        'try again, or in the format "fence" (setting `edit_format`), '
        "which rewrites all the selected lines",
    )


def cut_off() -> AnswerRefused:
    """The fault of an answer whose end is missing."""
    return AnswerRefused(
        "the answer was cut off before its end", "select fewer lines, or allow more tokens"
    )
