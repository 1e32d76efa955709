"""The CPU, as far as the build of llama.cpp depends on it."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# cmake option of ggml: the names in /proc/cpuinfo of what it makes the compiler use.
_OPTIONS = {
    "GGML_SSE42": {"sse4_2"},
    "GGML_AVX": {"avx"},
    "GGML_AVX2": {"avx2"},
    "GGML_FMA": {"fma"},
    "GGML_F16C": {"f16c"},
    "GGML_BMI2": {"bmi2"},
    "GGML_AVX_VNNI": {"avx_vnni"},
    "GGML_AVX512": {"avx512f", "avx512cd", "avx512vl", "avx512dq", "avx512bw"},
    "GGML_AVX512_VBMI": {"avx512vbmi"},
    "GGML_AVX512_VNNI": {"avx512_vnni"},
    "GGML_AVX512_BF16": {"avx512_bf16"},
}
_MODEL_KEYS = {
    "vendor_id",
    "cpu family",
    "model",
    "CPU implementer",
    "CPU architecture",
    "CPU part",
}
# Kernels add and rename flags that are not instructions; those must not cost anyone a rebuild.
_INSTRUCTIONS = ("sse", "ssse", "avx", "fma", "f16c", "bmi", "amx", "gfni", "vaes", "vpclmul")


@dataclass(frozen=True)
class Cpu:
    """What `/proc/cpuinfo` says of the first core; both parts empty where there is no such file."""

    model: tuple[str, ...]
    features: frozenset[str]

    def identity(self) -> str:
        """The same for two CPUs that can share a build made by `-march=native`."""
        if any(line.startswith("CPU") for line in self.model):
            instructions: Iterable[str] = self.features
        else:
            instructions = (name for name in self.features if name.startswith(_INSTRUCTIONS))
        return " ".join([platform.machine(), *self.model, *sorted(instructions)])


def read_cpu(cpuinfo: Path = Path("/proc/cpuinfo")) -> Cpu:
    """The CPU of this machine."""
    try:
        with cpuinfo.open(encoding="utf-8", errors="replace") as lines:
            return parse_cpuinfo(lines)
    except FileNotFoundError:
        return Cpu((), frozenset())


def parse_cpuinfo(lines: Iterable[str]) -> Cpu:
    """The first core; later ones differ in their numbers, and reading them all takes a while."""
    model: list[str] = []
    features: frozenset[str] = frozenset()
    for line in lines:
        key, _, value = (part.strip() for part in line.partition(":"))
        if not key:
            break
        if key in _MODEL_KEYS:
            model.append(f"{key}={value}")
        elif key in ("flags", "Features"):
            features = frozenset(value.split())
    return Cpu(tuple(model), features)


def cmake_options(features: frozenset[str]) -> Mapping[str, str]:
    """ggml's options for a CPU with these features.

    The compiler's own `native` is best, but GCC builds AMX code that dies by SIGILL at the first
    decode (its `_tile_loadconfig` is taken to read 8 bytes, so the rest may never be written).
    There the other instructions are named one by one.
    """
    if not any(name.startswith("amx") for name in features):
        return {"GGML_NATIVE": "ON"}
    return {"GGML_NATIVE": "OFF"} | {
        option: "ON" if needed <= features else "OFF" for option, needed in _OPTIONS.items()
    }
