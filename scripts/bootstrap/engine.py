"""Chooses the build of llama-cpp-python for this machine, from files alone: every start asks."""

from __future__ import annotations

import hashlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .cpu import Cpu, cmake_options
from .errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .radeon import Card

AUTO = "auto"
BACKENDS = (AUTO, "cpu", "hip", "vulkan")
PIN = Path(__file__).parents[2] / "requirements-engine.txt"

_OLDEST_HIP = (6, 1)
_INSTALL_ROCM = (
    "Install ROCm 6.4.1 or newer with the development files of HIP, hipBLAS and rocBLAS "
    "(AMD's package: rocm-hip-sdk; Fedora: rocm-hip-devel hipblas-devel rocblas-devel; "
    "Arch: rocm-hip-sdk), then run this again."
)
_FIND_CARD = (
    "Load the amdgpu driver (and let a container have /dev/kfd and /dev/dri), "
    "or use COPYDRAFT_BACKEND=vulkan, cpu, or auto to choose by what is there."
)
# Only the libraries are wanted: no programs, no image input.
_ALWAYS = {
    "LLAVA_BUILD": "OFF",
    "LLAMA_BUILD_TOOLS": "OFF",
    "LLAMA_BUILD_EXAMPLES": "OFF",
    "LLAMA_BUILD_TESTS": "OFF",
    "LLAMA_BUILD_SERVER": "OFF",
}


@dataclass(frozen=True)
class Hip:
    """An installed HIP compiler."""

    hipconfig: Path
    version: tuple[int, int]


@dataclass(frozen=True)
class Engine:
    """One way to build llama-cpp-python."""

    backend: str
    options: Mapping[str, str]
    """cmake's options."""
    machine: str
    """Equal on machines that can share the build."""
    hip: Hip | None = None
    cards: tuple[Card, ...] = ()
    warning: str = ""
    """What the user should know of this choice."""

    @property
    def key(self) -> str:
        """Name of the build in the cache; the wheel fits every Python, so that is no part of it."""
        pin = PIN.read_text("utf-8")
        parts = [pin, self.machine, *(f"{name}={self.options[name]}" for name in self.options)]
        if self.hip:
            parts.append(f"hip {self.hip.version}")
        version = re.search(r"==([\w.]+)", pin)
        assert version, f"{PIN} holds one pin"
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
        return f"{version[1]}-{self.backend}-{digest}"


def choose(asked: str, cpu: Cpu, cards: list[Card], hip: Hip | None, override: str = "") -> Engine:
    """The build for this machine.

    `asked` is one of BACKENDS, as COPYDRAFT_BACKEND has it; `override` is HSA_OVERRIDE_GFX_VERSION,
    empty where it is not set.

    Raises:
        SetupError: there is no such backend, or its hardware or compiler is missing.
    """
    if asked not in BACKENDS:
        raise SetupError(
            f"COPYDRAFT_BACKEND={asked} is not known", f"Set it to one of {', '.join(BACKENDS)}."
        )
    lack = _what_hip_lacks(cards, hip)
    if asked == "hip" and lack:
        hint = _INSTALL_ROCM if cards else _FIND_CARD
        raise SetupError(f"COPYDRAFT_BACKEND=hip cannot be built: {lack}", hint)

    backend = asked
    if asked == AUTO:
        backend = "cpu" if lack else "hip"
    options = {**_ALWAYS, **cmake_options(cpu.features)}
    if backend == "vulkan":
        options["GGML_VULKAN"] = "ON"
    if backend != "hip":
        warning = ""
        if cards and asked == AUTO:
            warning = f"{cards[0].gfx} is not used, the CPU is: {lack}.\n  {_INSTALL_ROCM}"
        return Engine(backend, options, cpu.identity(), warning=warning)
    options["GGML_HIP"] = "ON"
    options["GPU_TARGETS"] = ";".join(sorted({_target(card, override) for card in cards}))
    return Engine(backend, options, cpu.identity(), hip, tuple(cards))


def _target(card: Card, override: str) -> str:
    """What to compile for: ROCm takes the card for `override`, as in 10.3.0.

    Cards of gfx12 cannot run code for others; `copydraft doctor` tells to unset it there.
    """
    if not override or card.gfx.startswith("gfx12"):
        return card.gfx
    found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", override)
    if found is None:
        raise SetupError(
            f"HSA_OVERRIDE_GFX_VERSION={override} is no version", "Write it as in 10.3.0."
        )
    major, minor, stepping = map(int, found.groups())
    return f"gfx{major}{minor:x}{stepping:x}"


def _what_hip_lacks(cards: list[Card], hip: Hip | None) -> str:
    if not cards:
        return "no Radeon with memory of its own is found in /sys/class/kfd"
    if hip is None:
        return "ROCm's compiler is not installed (no hipconfig, or no HIP headers beside it)"
    if hip.version < _OLDEST_HIP:
        return f"its compiler is HIP {hip.version[0]}.{hip.version[1]}, and 6.1 is needed"
    return ""


def find_hip(path: str) -> Hip | None:
    """HIP's compiler on this search path or in ROCm's usual place, with its headers."""
    found = shutil.which("hipconfig", path=f"{path}:/opt/rocm/bin")
    if found is None:
        return None
    header = Path(found).resolve().parents[1] / "include/hip/hip_version.h"
    try:
        numbers = dict(re.findall(r"#define HIP_VERSION_(MAJOR|MINOR) (\d+)", header.read_text()))
        return Hip(Path(found), (int(numbers["MAJOR"]), int(numbers["MINOR"])))
    except (OSError, KeyError):
        return None
