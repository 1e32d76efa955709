"""What a GGUF file says about its model, read without loading it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gguf

from copydraft.errors import ModelProblem
from copydraft.models import header
from copydraft.models.fields import MOST_LAYERS, Fields, MemoryKind

if TYPE_CHECKING:
    from pathlib import Path

_KV_VALUE_BYTES = 2  # f16
_STATE_VALUE_BYTES = 4  # f32
_PREFILL_TOKENS = 512
_ACTIVATIONS_BYTES = 128 << 20
_UNSAFE_TOKENIZERS = {"plamo2"}  # its tables are filled unchecked, as of llama.cpp 0c1e57098
_SPLIT_NAME = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf")


@dataclass(frozen=True, kw_only=True)
class ModelMetadata:
    """Facts from the header. Sizes are in bytes, lengths in tokens."""

    path: Path
    name: str
    architecture: str
    parameters: int
    quantization: str
    """As in file names, "Q4_K_M"; empty where the file does not say."""
    size: int
    """Of the file, or of all its parts together."""
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
    parts = _parts(path)
    headers = [_header(part) for part in parts]
    fields = Fields(path, headers[0])
    _refuse_other_kinds(path, fields)
    kv_heads = fields.kv_heads()
    return ModelMetadata(
        path=path,
        name=fields.text("general.name") or path.stem,
        architecture=fields.architecture,
        parameters=sum(header.parameters for header in headers),
        quantization=_quantization(fields.number("general.file_type", -1)),
        size=sum(part.stat().st_size for part in parts),
        weight_bytes=sum(header.tensor_bytes for header in headers),
        context_length=fields.need("context_length"),
        embedding_length=fields.need("embedding_length"),
        block_count=fields.need("block_count"),
        head_count=fields.most("attention.head_count"),
        kv_heads=kv_heads,
        vocab_size=fields.header.counts["tokenizer.ggml.tokens"],
        tokenizer=fields.text("tokenizer.ggml.model"),
        pre_tokenizer=fields.text("tokenizer.ggml.pre"),
        chat_template=fields.text("tokenizer.chat_template"),
        bos_token=fields.token("bos"),
        eos_token=fields.token("eos"),
        memory_kind=fields.memory_kind(kv_heads),
        sliding_window=fields.number(f"{fields.architecture}.attention.sliding_window"),
        kv_bytes=sum(kv_heads) * fields.head_lengths() * _KV_VALUE_BYTES,
        state_bytes=fields.state_values(kv_heads) * _STATE_VALUE_BYTES,
    )


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


def _header(path: Path) -> header.Header:
    try:
        return header.read(path)
    except header.Damaged as error:
        raise ModelProblem(
            f"{path} cannot be used: {error}", "download it again, or give another .gguf file"
        ) from error
    except OSError as error:
        raise ModelProblem(f"cannot read {path}: {error.strerror}", "give a .gguf file") from error


def _parts(path: Path) -> list[Path]:
    """All files of a model that is split into several; otherwise the one."""
    if (name := _SPLIT_NAME.fullmatch(path.name)) is None:
        return [path]
    stem, number, count = name.groups()
    parts = [
        path.with_name(f"{stem}-{part:05}-of-{count}.gguf") for part in range(1, int(count) + 1)
    ]
    if int(number) != 1:
        raise ModelProblem(f"{path.name} is a part of a model", f"give its first: {parts[0]}")
    if missing := [part.name for part in parts if not part.exists()]:
        raise ModelProblem(f"{missing[0]} is missing", "put all parts into one directory")
    return parts


def _refuse_other_kinds(path: Path, fields: Fields) -> None:
    kind = fields.text("general.type") or "model"
    causal = fields.header.values.get(f"{fields.architecture}.attention.causal", True)
    if kind != "model" or fields.architecture == "clip":
        raise ModelProblem(
            f"{path} is no language model ({kind}, {fields.architecture})",
            "give the model's own .gguf file",
        )
    if fields.need("block_count") > MOST_LAYERS:
        raise ModelProblem(
            f"{path} has more layers than llama.cpp can load ({MOST_LAYERS})",
            "give another .gguf file",
        )
    if (tokenizer := fields.text("tokenizer.ggml.model")) in _UNSAFE_TOKENIZERS:
        raise ModelProblem(
            f"{path} has a vocabulary of the kind {tokenizer}, with which a damaged file can make "
            "llama.cpp write where it must not",
            "give a model of another kind",
        )
    if causal is False or not fields.header.counts.get("tokenizer.ggml.tokens"):
        raise ModelProblem(
            f"{path} writes no text (it is for embeddings, or has no vocabulary)",
            "give a model that was made to write text",
        )


def _quantization(file_type: int) -> str:
    try:
        name: str = gguf.LlamaFileType(file_type).name
    except ValueError:
        return ""
    return name.removeprefix("MOSTLY_").removeprefix("ALL_")
