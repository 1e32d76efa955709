"""A model's vocabulary as llama.cpp has it: text to tokens and back, and its special tokens."""

from __future__ import annotations

import ctypes
from functools import cached_property
from typing import Any

import llama_cpp

from copydraft.tokens import FillTokens

_MARKS = ("<|file_separator|>", "<file_sep>", "<repo_name>", "<filename>", "[MIDDLE]")
"""Control tokens that end a file or a filled-in text, and that llama.cpp does not know as such:
CodeGemma's, StarCoder2's (two), Granite's, Mistral's."""


class Vocabulary:
    """Implements `tokens.Tokenizer` over llama.cpp's vocabulary of a loaded model."""

    def __init__(self, handle: Any) -> None:
        self._vocab = handle
        self._pieces: dict[int, bytes] = {}

    @cached_property
    def vocab_size(self) -> int:
        return int(llama_cpp.llama_vocab_n_tokens(self._vocab))

    @cached_property
    def end_tokens(self) -> frozenset[int]:
        is_end = llama_cpp.llama_vocab_is_eog
        return frozenset(t for t in range(self.vocab_size) if is_end(self._vocab, t))

    @cached_property
    def special_texts(self) -> frozenset[str]:
        special = llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN
        attributes, text = llama_cpp.llama_vocab_get_attr, llama_cpp.llama_vocab_get_text
        return frozenset(
            text(self._vocab, t).decode("utf-8", "replace")
            for t in range(self.vocab_size)
            if attributes(self._vocab, t) & special
        )

    @cached_property
    def bos_text(self) -> str:
        """Spelling of the token that opens a sequence, "" where the model wants none."""
        return self._spelling(llama_cpp.llama_vocab_bos(self._vocab))

    @cached_property
    def eos_text(self) -> str:
        return self._spelling(llama_cpp.llama_vocab_eos(self._vocab))

    @cached_property
    def fill_tokens(self) -> FillTokens | None:
        """What the vocabulary has for writing in the middle of a text; None: nothing."""
        found = [
            function(self._vocab)
            for function in (
                llama_cpp.llama_vocab_fim_pre,
                llama_cpp.llama_vocab_fim_suf,
                llama_cpp.llama_vocab_fim_mid,
                llama_cpp.llama_vocab_fim_rep,
                llama_cpp.llama_vocab_fim_sep,
            )
        ]
        before, behind, middle, repository, file = (None if t < 0 else t for t in found)
        if before is None or behind is None:
            # llama.cpp does not know Mistral's.
            before, behind = self._control("[PREFIX]"), self._control("[SUFFIX]")
            middle = None
        elif middle is None:
            return None
        if before is None or behind is None:
            return None
        special = (before, behind, middle, repository, file, *map(self._control, _MARKS))
        ends = frozenset(token for token in special if token is not None)
        return FillTokens(before, behind, middle, repository, file, ends)

    def _control(self, spelling: str) -> int | None:
        """The control token of this spelling, or None."""
        if spelling not in self.special_texts:
            return None
        tokens = self.encode(spelling, special=True)
        return tokens[0] if len(tokens) == 1 else None

    @cached_property
    def adds_bos(self) -> bool:
        return bool(llama_cpp.llama_vocab_get_add_bos(self._vocab))

    def _spelling(self, token: int) -> str:
        if token < 0:
            return ""
        return str(llama_cpp.llama_vocab_get_text(self._vocab, token).decode("utf-8", "replace"))

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        data = text.encode("utf-8", "surrogatepass")
        room = len(data) + 8
        while True:
            buffer = (ctypes.c_int32 * room)()
            count = llama_cpp.llama_tokenize(
                self._vocab, data, len(data), buffer, room, False, special
            )
            if count >= 0:
                return buffer[:count]
            room = -count

    def piece(self, token: int) -> bytes:
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._pieces[token] = self._printed(token)
        return piece

    def _printed(self, token: int) -> bytes:
        room = 64
        while True:
            buffer = ctypes.create_string_buffer(room)
            count = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, room, 0, False)
            if count >= 0:
                return buffer.raw[:count]
            room = -count
