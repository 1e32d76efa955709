"""A model's tokenizer for text in bulk: on all cores, out of the GGUF's vocabulary and merges.

Byte-level BPE (Sennrich et al. 2016, on bytes as in GPT-2) by Hugging Face's `tokenizers`. The
pre-tokenizers are llama.cpp's (src/llama-vocab.cpp, by `tokenizer.ggml.pre`), so that the tokens
are those that the engine writes. Other families are not covered: llama.cpp tokenises for them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

import gguf
import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

from copydraft.errors import ModelProblem
from copydraft.models import header

if TYPE_CHECKING:
    from collections import abc
    from pathlib import Path

    from numpy.typing import NDArray

_TOKENS = "tokenizer.ggml.tokens"
_MERGES = "tokenizer.ggml.merges"
_TYPES = "tokenizer.ggml.token_type"

_CONTRACTIONS = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_AFTER_WORDS = r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_QWEN2 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+" + _AFTER_WORDS
_QWEN35 = (
    _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+" + _AFTER_WORDS
)
_LLAMA3 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+" + _AFTER_WORDS


_SMALL = 32_000
"""Characters that are done before other threads have woken up."""


class _Family(NamedTuple):
    """How texts are cut into words, step by step, and whether a line end always ends a word."""

    patterns: tuple[str, ...]
    cut_at_lines: bool
    whole_words: bool = False
    """A word that is in the vocabulary is one token, whatever the merges say."""


_FAMILIES = {
    "gpt-2": _Family((_GPT2,), cut_at_lines=False),
    "starcoder": _Family((r"\p{N}", _GPT2), cut_at_lines=False),
    "smollm": _Family((r"\p{N}", _GPT2), cut_at_lines=False),
    "qwen2": _Family((_QWEN2,), cut_at_lines=True),
    "qwen35": _Family((_QWEN35,), cut_at_lines=True),
    "llama-bpe": _Family((_LLAMA3,), cut_at_lines=True, whole_words=True),
}

_ALWAYS_CONTROL = frozenset(
    [
        *("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>", "<|fim_repo|>"),
        *("<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<fim_pad>", "<reponame>", "<REPO>"),
        *("<fim-prefix>", "<fim-suffix>", "<fim-middle>", "<fim-pad>", "<fim-repo>", "<PRE>"),
        *("<SUF>", "<MID>", "<PAD>", "<|file_sep|>", "<|repo_name|>", "<|code_prefix|>"),
        *("<|code_suffix|>", "<|code_middle|>", "<|prefix|>", "<|suffix|>", "<|middle|>"),
        *("<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|endoftext|>", "<EOT>"),
        *("<|end_of_text|>", "<end_of_turn>", "<end_of_utterance>", "<|return|>", "<|call|>"),
        *("<|calls|>", "<|flush|>", "</s>", "[EOT]", "[EOS]", "[PAD]", "<eos>", "<turn|>"),
    ]
)
"""llama.cpp takes these for control tokens whatever the file says: never read out of a text."""


class BulkTokenizer:
    """Token ids of many texts at once; the engine's own tokens for them.

    A text's control tokens are ordinary text, its user-defined tokens are read out of it.
    Characters that UTF-8 does not have (lone surrogates) are taken for question marks.
    """

    def __init__(self, tokenizer: Tokenizer, fingerprint: str, reach: int, cut_at_lines: bool):
        self._tokenizer = tokenizer
        self.fingerprint = fingerprint
        """Of all that decides about the tokens: vocabulary, merges, pre-tokenizer."""
        self.reach = reach
        """A change of the text changes no cut between words that is further away, in characters."""
        self.cut_at_lines = cut_at_lines
        """Whether a word always ends where a line begins with something else than a blank."""

    def encode_many(self, texts: abc.Sequence[str]) -> list[NDArray[np.uint32]]:
        """The tokens of each text, on all cores where there is much of it."""
        if sum(map(len, texts)) < _SMALL:
            return [np.array(self.encode_one(text), np.uint32) for text in texts]
        encodings = self._tokenizer.encode_batch_fast(
            [_valid(text) for text in texts], add_special_tokens=False
        )
        return [np.array(encoding.ids, np.uint32) for encoding in encodings]

    def encode_one(self, text: str) -> list[int]:
        """The tokens of a short text, at once."""
        ids: list[int] = self._tokenizer.encode(_valid(text), add_special_tokens=False).ids
        return ids


def bulk_tokenizer(path: Path) -> BulkTokenizer | None:
    """The tokenizer of the model at `path`; None if its family is not covered.

    Raises:
        ModelProblem: the file cannot be read, or is no GGUF.
    """
    vocabulary = _read(path)
    family = _FAMILIES.get(vocabulary.pre)
    if vocabulary.model != "gpt2" or family is None or not vocabulary.merges:
        return None
    added = [
        token
        for token, kind in zip(vocabulary.tokens, vocabulary.types, strict=False)
        if kind == gguf.TokenType.USER_DEFINED and token not in _ALWAYS_CONTROL
    ]
    if any(token[:1].isalpha() or " " in token or "\n" in token for token in added):
        return None  # words would not end where buffers are cut
    tokenizer = _byte_level(vocabulary.tokens, vocabulary.merges, family)
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in added])
    return BulkTokenizer(
        tokenizer,
        vocabulary.fingerprint,
        # The longest look ahead of the patterns is a contraction's.
        max([4, *map(len, added)]),
        family.cut_at_lines,
    )


def vocabulary_fingerprint(path: Path) -> str:
    """Of all that decides about the tokens of a model, of whatever family.

    Raises:
        ModelProblem: the file cannot be read, or is no GGUF.
    """
    return _read(path).fingerprint


class _Vocabulary(NamedTuple):
    model: str
    pre: str
    tokens: list[str]
    types: list[int]
    merges: list[str]

    @property
    def fingerprint(self) -> str:
        parts = (self.model, self.pre, *self.tokens, *self.merges, *map(str, self.types))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _read(path: Path) -> _Vocabulary:
    try:
        head = header.read(path, whole=frozenset((_TOKENS, _MERGES, _TYPES)))
    except header.Damaged as error:
        raise ModelProblem(
            f"{path} cannot be used: {error}", "download it again, or give another .gguf file"
        ) from error
    except OSError as error:
        raise ModelProblem(f"cannot read {path}: {error.strerror}", "give a .gguf file") from error
    return _Vocabulary(
        str(head.values.get("tokenizer.ggml.model", "")),
        str(head.values.get("tokenizer.ggml.pre", "")),
        [str(token) for token in head.whole.get(_TOKENS, [])],
        [int(kind) for kind in head.whole.get(_TYPES, [])],
        [str(merge) for merge in head.whole.get(_MERGES, [])],
    )


def _byte_level(tokens: list[str], merges: list[str], family: _Family) -> Tokenizer:
    # Of a merge that is listed twice, llama.cpp takes the first rank, the library the last.
    pairs = []
    for merge in dict.fromkeys(merges):
        left, _, right = merge.partition(" ")
        pairs.append((left, right))
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(BPE(vocabulary, pairs, ignore_merges=family.whole_words))
    splits = [Split(Regex(pattern), "isolated") for pattern in family.patterns]
    tokenizer.pre_tokenizer = Sequence(
        [*splits, ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    return tokenizer


def _valid(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
