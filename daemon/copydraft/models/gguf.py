"""What a GGUF file says about its model, read without loading it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

MemoryKind = Literal["dense", "sliding-window", "recurrent", "hybrid"]

_KV_VALUE_BYTES = 2  # f16
_STATE_VALUE_BYTES = 4  # f32
_PREFILL_TOKENS = 512
_ACTIVATIONS_BYTES = 128 << 20
_SPLIT_NAME = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf")
_STATE_KEYS = ("ssm.", "shortconv.", "wkv.", "kda.")


@dataclass(frozen=True, kw_only=True)
class ModelMetadata:
    """Facts from the header. Sizes are in bytes, lengths in tokens."""

    path: Path
    name: str
    architecture: str
    parameters: int
    quantization: str
    """As in file names, "Q4_K_M"; empty where the file does not say."""
    file_bytes: int
    """Of all parts together."""
    weight_bytes: int
    context_length: int
    embedding_length: int
    block_count: int
    head_count: int
    kv_heads: tuple[int, ...]
    """Key-value heads of each layer; 0 in layers without attention."""
    vocab_size: int
    tokenizer: str
    """Kind of tokenizer: "gpt2" (byte-level BPE), "llama" (SentencePiece), ..."""
    pre_tokenizer: str
    chat_template: str
    """Jinja source; empty: the model was not made for chat."""
    bos_token: int | None
    eos_token: int | None
    add_bos: bool
    memory_kind: MemoryKind
    sliding_window: int
    """How far sliding window layers look back; 0: there are none."""
    kv_bytes: int
    """Keys and values of one token in all layers, as f16, sliding window layers counted whole."""
    state_bytes: int
    """Recurrent state of one sequence; 0: none."""


def read_metadata(path: Path) -> ModelMetadata:
    """What the header says; of a split model, `path` is the first part.

    Raises:
        ModelProblem: the file is missing, unreadable, damaged, cut short, not a GGUF, not a model
            that writes text, or one part of several.
    """
    raise NotImplementedError


def memory_needed(metadata: ModelMetadata, context: int, *, rollback: int = 8) -> int:
    """Bytes that running takes: weights, keys and values of `context` tokens, logits, activations.

    `rollback` is how many tokens back a recurrent state can be taken: each costs a state more.
    """
    logits = metadata.vocab_size * _PREFILL_TOKENS * 4
    return (
        metadata.weight_bytes
        + metadata.kv_bytes * context
        + metadata.state_bytes * (1 + rollback)
        + logits
        + _ACTIVATIONS_BYTES
    )
