"""What of a document the model is shown: the region, and as much around it as there is room for."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from copydraft.emission.fence import fenced, language
from copydraft.prompts.pieces import Piece, encode_pieces
from copydraft.textedits import split_lines
from copydraft.workspace.documents import region_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from copydraft.protocol import Region
    from copydraft.tokens import Tokenizer

BLOCK_LINES = 32
"""Windows begin and end at multiples of this, so that edits close by share one prompt prefix."""

_SAMPLE_CHARS_PER_TOKEN = 4


class Window(NamedTuple):
    """Lines [start, end) of a document; none where both are equal."""

    start: int
    end: int


NOTHING = Window(0, 0)


def plain(text: str) -> str:
    r"""The text as models know it: only `\n` ends a line."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def region_text(region: Region) -> str:
    """The region as the model sees it.

    Raises:
        BadRequest: its lines are not in the document.
    """
    return plain("".join(region_lines(region.text, region.start, region.end)))


def show(region: Region, shown: Window, title: str, fence: str) -> str:
    """The lines `shown` of the document, then the region under its title, each in a fence."""
    info = language(region.path)
    blocks = [f"{title}:\n{fenced(region_text(region), fence, info)}\n"]
    if shown != NOTHING:
        lines = split_lines(region.text)
        whole = shown == Window(0, len(lines))
        name = f"File: {region.path}" if whole else f"Part of the file {region.path}:"
        text = plain("".join(lines[shown.start : shown.end]))
        blocks.insert(0, f"{name}\n{fenced(text, fence, info)}\n")
    return "".join(blocks)


class Prompt(NamedTuple):
    """The same prompt as text and as tokens."""

    pieces: list[Piece]
    tokens: list[int]


def fit(
    build: Callable[[Window], list[Piece]],
    region: Region,
    tokenizer: Tokenizer,
    *,
    most: int,
    file_context: int,
) -> Prompt:
    """The prompt with as much of the file as `file_context` tokens and `most` in all allow.

    Without any of the file it may still be longer than `most`.
    """

    def encoded(shown: Window) -> Prompt:
        pieces = build(shown)
        return Prompt(pieces, encode_pieces(pieces, tokenizer))

    bare = encoded(NOTHING)
    budget = min(file_context, most - len(bare.tokens))
    while budget > 0 and (shown := window(region, budget, tokenizer)) != NOTHING:
        prompt = encoded(shown)
        if len(prompt.tokens) <= most:
            return prompt
        # The estimate was too low: the text here has more tokens than that around the region.
        budget = budget * 3 // 4
    return bare


def window(region: Region, budget: int, tokenizer: Tokenizer) -> Window:
    """The lines to show: the whole document if it has about `budget` tokens, else whole blocks.

    The blocks hold the region and grow evenly on both sides of it. Where those of the region
    alone are over the budget, nothing is shown. The size of lines is estimated from one
    tokenisation of the text around the region.
    """
    lines = split_lines(region.text)
    rate = _tokens_per_char(lines, region, budget, tokenizer)
    sizes = [0.0, *accumulate(len(line) * rate for line in lines)]

    def fits(start: int, end: int) -> bool:
        return sizes[end] - sizes[start] <= budget

    if fits(0, len(lines)):
        return Window(0, len(lines))
    start = region.start // BLOCK_LINES * BLOCK_LINES
    end = min(-(-region.end // BLOCK_LINES) * BLOCK_LINES, len(lines))
    if not fits(start, end):
        return NOTHING
    grown = True
    while grown:
        grown = False
        if start > 0 and fits(start - BLOCK_LINES, end):
            start -= BLOCK_LINES
            grown = True
        if end < len(lines) and fits(start, min(end + BLOCK_LINES, len(lines))):
            end = min(end + BLOCK_LINES, len(lines))
            grown = True
    return Window(start, end)


def _tokens_per_char(
    lines: Sequence[str], region: Region, budget: int, tokenizer: Tokenizer
) -> float:
    """Measured on the text near the region, so that a file of megabytes costs no more."""
    reach = budget * _SAMPLE_CHARS_PER_TOKEN
    above = "".join(lines[: region.start])[-reach:]
    sample = above + "".join(lines[region.start :])[:reach]
    return len(tokenizer.encode(sample)) / len(sample)
