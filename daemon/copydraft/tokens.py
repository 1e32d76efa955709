"""Leaf types shared by engine, drafting, emission and prompts: tokens, documents, spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Tokenizer(Protocol):
    """Text to token ids and back, as the loaded model does it.

    Token ids are plain ints; `piece` gives bytes, since one token may hold part of a character.
    """

    @property
    def vocab_size(self) -> int: ...

    @property
    def end_tokens(self) -> frozenset[int]:
        """End-of-generation tokens: the model's own word that it is done."""
        ...

    @property
    def special_texts(self) -> frozenset[str]:
        """Spellings that only `encode` with `special` takes for one token, such as `<|im_end|>`.

        These are the control and unknown tokens of the vocabulary; user-defined tokens are read
        out of any text, as they are in the model's training.
        """
        ...

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Tokens of `text`, no token added in front.

        With `special`, the spelling of a control token (`<|im_end|>`) becomes that token;
        without, it is ordinary text. Text of the user's is never encoded with `special`.
        """
        ...

    def piece(self, token: int) -> bytes:
        """The bytes that `token` prints; empty for control tokens."""
        ...


class FillTokens(NamedTuple):
    """Control tokens that a model was trained with to fill in the middle of a text."""

    before: int
    """Stands in front of the text before the place."""
    behind: int
    """Stands in front of the text behind the place."""
    middle: int | None
    """The model writes what belongs in the middle after it; None: right after the text before,
    which then comes last (Mistral's order)."""
    repository: int | None
    """Stands in front of a repository's name."""
    file: int | None
    """Stands in front of a file's name."""
    ends: frozenset[int]
    """All of these and others of their kind: written by the model, they end the text."""


class Document(NamedTuple):
    """Text in reach, as the tokens that the model would print for it: a source of drafts.

    `corpus` is where it comes from: "region", "prediction" (given by the request), "format"
    (text that the answer's format forces), "session", "workspace" or "global".
    """

    corpus: str
    path: str
    field: str
    tokens: Sequence[int]


class Quotation(NamedTuple):
    """Where an answer quotes an old text and then writes the new one in its place: by a call of an
    editing tool, or by a search/replace block. These are the tokens before either.
    """

    before_old: Sequence[int]
    before_new: Sequence[int]


class Draft(NamedTuple):
    """Tokens proposed to follow the text so far, and where they were copied from."""

    tokens: Sequence[int]
    corpus: str
    path: str


NO_DRAFT = Draft((), "", "")
