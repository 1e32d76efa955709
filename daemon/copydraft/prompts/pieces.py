"""Prompts in pieces: the template's own markup, and text of the user's, which is never a command.

Text of the user's never becomes a control token, whatever it spells.
"""

from __future__ import annotations

import re
import secrets
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from copydraft.errors import ModelProblem
from copydraft.prompts.thinking import THOUGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copydraft.tokens import Tokenizer


class Piece(NamedTuple):
    """Part of a prompt; only in the template's own markup do spellings mean control tokens."""

    text: str
    markup: bool


def encode_pieces(pieces: Sequence[Piece], tokenizer: Tokenizer) -> list[int]:
    """Tokens of the joined text, as of one text, save where the user's part spells a control token.

    There, and only there, the text is cut, and the spelling is encoded as ordinary text.
    """
    text = "".join(piece.text for piece in pieces)
    tokens: list[int] = []
    at = 0
    for start, end in _user_spellings(pieces, text, tokenizer.special_texts):
        tokens += tokenizer.encode(text[at:start], special=True)
        tokens += tokenizer.encode(text[start:end])
        at = end
    return tokens + tokenizer.encode(text[at:], special=True)


def encode_answer(prompt: Sequence[Piece], answer: str, tokenizer: Tokenizer) -> list[int]:
    """Tokens of `answer` as the model would print it after `prompt`, which ends in markup.

    The first tokens of a text depend on what stands before it.
    """
    opening = tokenizer.encode(prompt[-1].text, special=True)
    tokens = encode_pieces([prompt[-1], Piece(answer, markup=False)], tokenizer)
    if tokens[: len(opening)] == opening:
        return tokens[len(opening) :]
    return encode_pieces([Piece(answer, markup=False)], tokenizer)


class Marks:
    """Marks that nobody can guess around texts of the user's, to find them in what is rendered."""

    def __init__(self, special_texts: frozenset[str]) -> None:
        self._specials = [text for text in special_texts if text]
        self._key = secrets.token_hex(8)
        self._thought = f"{self._key}t"
        self._wrapped = 0
        self._wanted: set[str] = set()

    def content(self, text: str, *, may_drop: bool) -> str:
        """The content of a message; without `may_drop`, a rendering that lacks it is a fault."""
        # Templates often strip contents: blank ends stay outside, where they can be stripped.
        core = text.strip()
        if not core:
            return text
        start = text.index(core)
        # Templates cut answers where thinking ends; what is here only speaks of it.
        shown = core.replace(THOUGHT, self._thought)
        wrapped = f"{text[:start]}{self._wrap(shown)}{text[start + len(core) :]}"
        if not may_drop:
            self._wanted.add(str(self._wrapped))
        return wrapped

    def guarded(self, value: Any) -> Any:
        """JSON, with marks around the strings that spell control tokens.

        Not around all: templates compare names and types with what they know.
        """
        match value:
            case str():
                return self._wrap(value) if any(s in value for s in self._specials) else value
            case list():
                return [self.guarded(each) for each in value]
            case dict():
                return {self.guarded(key): self.guarded(each) for key, each in value.items()}
            case _:
                return value

    def cut(self, rendered: str) -> list[Piece]:
        """What was rendered, marks taken out.

        Raises:
            ModelProblem: the content of a message is missing.
        """
        pieces = []
        seen = set()
        at = 0
        for match in re.finditer(rf"{self._key}x(\d+)x(.*?){self._key}x\1x", rendered, re.DOTALL):
            text = match[2].replace(self._thought, THOUGHT)
            pieces += [Piece(rendered[at : match.start()], markup=True), Piece(text, False)]
            seen.add(match[1])
            at = match.end()
        if not self._wanted <= seen:
            raise ModelProblem(
                "the model's chat template drops part of the request", "use another file of it"
            )
        return [*pieces, Piece(rendered[at:], markup=True)]

    def _wrap(self, text: str) -> str:
        self._wrapped += 1
        key = f"{self._key}x{self._wrapped}x"
        return f"{key}{text}{key}"


def _user_spellings(
    pieces: Sequence[Piece], text: str, special_texts: frozenset[str]
) -> list[tuple[int, int]]:
    """Where a control token is spelled by the user's text, or by it together with markup."""
    found = sorted((s for s in special_texts if s and s in text), key=len, reverse=True)
    if not found:
        return []
    ends = list(accumulate(len(piece.text) for piece in pieces))
    markup = [
        (end - len(piece.text), end)
        for piece, end in zip(pieces, ends, strict=True)
        if piece.markup
    ]
    return [
        match.span()
        for match in re.finditer("|".join(map(re.escape, found)), text)
        if not any(start <= match.start() and match.end() <= end for start, end in markup)
    ]
