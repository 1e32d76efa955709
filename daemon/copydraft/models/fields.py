"""A GGUF header's values under the names and types that models use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from copydraft.errors import ModelProblem

if TYPE_CHECKING:
    from pathlib import Path

    from copydraft.models.header import Header

MemoryKind = Literal["dense", "sliding-window", "recurrent", "hybrid"]
"""What a model keeps of the tokens it read: keys and values of all, of the last few in some
layers, a state of fixed size, or both."""

MOST_LAYERS = 512
"""llama.cpp's own limit (LLAMA_MAX_LAYERS); it ends the process where a file has more."""
_EVERY_FOURTH = ("qwen35", "qwen35moe", "qwen3next")
"""Architectures with attention in every fourth layer unless the file says otherwise."""
_STATE_KEYS = ("ssm.", "shortconv.", "wkv.", "kda.")


class Fields:
    """The header's values, by the model's architecture and with the types that they must have."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self.architecture = self.text("general.architecture")
        if not self.architecture:
            raise self._damaged("general.architecture")

    def text(self, key: str) -> str:
        value = self.header.values.get(key, "")
        return value if isinstance(value, str) else ""

    def number(self, key: str, default: int = 0) -> int:
        value = self.header.values.get(key)
        return value if isinstance(value, int) else default

    def need(self, key: str) -> int:
        """A number that every model has, above 0."""
        value = self.number(f"{self.architecture}.{key}")
        if value <= 0:
            raise self._damaged(f"{self.architecture}.{key}")
        return value

    def token(self, role: str) -> int | None:
        value = self.number(f"tokenizer.ggml.{role}_token_id", -1)
        return value if value >= 0 else None

    def most(self, key: str) -> int:
        """The largest value of any layer, for keys with one value or with one for each layer."""
        return max(self._by_layer(key), default=0)

    def kv_heads(self) -> tuple[int, ...]:
        """Key-value heads of each layer; as many as heads where the file does not say."""
        heads = self._by_layer("attention.head_count_kv") or self._by_layer("attention.head_count")
        interval = self.number(f"{self.architecture}.full_attention_interval")
        if interval == 0 and self.architecture in _EVERY_FOURTH:
            interval = 4
        if interval > 0:
            return tuple(
                count if layer % interval == interval - 1 else 0
                for layer, count in enumerate(heads)
            )
        return tuple(heads)

    def head_lengths(self) -> int:
        """Length of one head's key and value together."""
        heads = self.most("attention.head_count")
        usual = self.need("embedding_length") // heads if heads else 0
        name = f"{self.architecture}.attention"
        return self.number(f"{name}.key_length", usual) + self.number(f"{name}.value_length", usual)

    def memory_kind(self, kv_heads: tuple[int, ...]) -> MemoryKind:
        if self._has_state():
            return "hybrid" if any(kv_heads) else "recurrent"
        window = self.number(f"{self.architecture}.attention.sliding_window")
        return "sliding-window" if window > 0 else "dense"

    def state_values(self, kv_heads: tuple[int, ...]) -> int:
        """Numbers in the recurrent state of one sequence: convolutions' inputs and the state."""
        if not self._has_state():
            return 0

        def ssm(key: str) -> int:
            return self.number(f"{self.architecture}.ssm.{key}")

        channels = ssm("inner_size") + 2 * ssm("group_count") * ssm("state_size")
        state = max(ssm("conv_kernel") - 1, 0) * channels + ssm("inner_size") * ssm("state_size")
        short = max(self.number(f"{self.architecture}.shortconv.l_cache") - 1, 0)
        blocks = self.need("block_count")
        # Where all layers have attention, each has its state beside it.
        layers = blocks - sum(count > 0 for count in kv_heads) or blocks
        return layers * (state + short * self.need("embedding_length"))

    def _has_state(self) -> bool:
        prefixes = tuple(f"{self.architecture}.{key}" for key in _STATE_KEYS)
        return any(key.startswith(prefixes) for key in self.header.values)

    def _by_layer(self, key: str) -> list[int]:
        value = self.header.values.get(f"{self.architecture}.{key}", [])
        blocks = self.need("block_count")
        numbers = value if isinstance(value, list) else [value] * min(blocks, MOST_LAYERS)
        return [number for number in numbers if isinstance(number, int) and number >= 0]

    def _damaged(self, key: str) -> ModelProblem:
        return ModelProblem(
            f"{self.path} does not say its {key}", "download it again, or give another .gguf file"
        )
