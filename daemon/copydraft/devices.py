"""What the machine has: memory, cores, and AMD cards, as the kernel tells it.

llama.cpp is not asked here: the daemon knows this before it loads anything, and so do the CLI and
the bootstrap, which run where no build of llama.cpp is yet. The bootstrap imports this module
before anything is installed: it needs Python's own library only.
"""

from __future__ import annotations

import importlib.util
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/")
_SYS = Path("/sys")
_AMDGPU_IDS = Path("usr/share/libdrm/amdgpu.ids")
_AMD = "0x1002"
_CARD_LIBRARIES = ("libggml-hip.", "libggml-vulkan.", "libggml-cuda.")
# A card's own memory is its first bank; an integrated GPU's bank is the machine's memory.
_SHARED_BANK_FACTOR = 1.5


# --- memory and cores -----------------------------------------------------------------------


def resident_bytes(pid: int, *, root: Path = _ROOT) -> int:
    """Resident memory of a process; 0 when it has ended."""
    statm = _read(root / f"proc/{pid}/statm").split()
    return int(statm[1]) * os.sysconf("SC_PAGE_SIZE") if len(statm) > 1 else 0


def total_memory(*, root: Path = _ROOT) -> int:
    """Bytes of memory that this process may use: the machine's, or its control group's limit."""
    machine = _meminfo(root).get("MemTotal", 0)
    return min([machine, *(group.limit for group in _memory_groups(root))])


def available_memory(*, root: Path = _ROOT) -> int:
    """Bytes of memory that can be had now without swapping, within the control group's limit."""
    machine = _meminfo(root).get("MemAvailable", 0)
    return max(0, min([machine, *(group.limit - group.used for group in _memory_groups(root))]))


def physical_cores(*, root: Path = _ROOT) -> int:
    """Cores that this process may run on, counted without their second threads; at least 1."""
    allowed = os.sched_getaffinity(0)
    topology = root / "sys/devices/system/cpu"
    cores = {
        (_read(topology / f"cpu{cpu}/topology/physical_package_id"), core)
        for cpu in allowed
        if (core := _read(topology / f"cpu{cpu}/topology/core_id"))
    }
    return max(1, min([len(cores) or len(allowed), *_cpu_quotas(root)]))


@dataclass(frozen=True)
class _MemoryGroup:
    limit: int
    used: int


def _memory_groups(root: Path) -> list[_MemoryGroup]:
    """The limits of this process's control group and of those around it."""
    groups = []
    for directory, limit_file, used_file, cache in (
        *((group, "memory.max", "memory.current", "inactive_file") for group in _groups(root, "")),
        *(
            (group, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            for group in _groups(root, "memory")
        ),
    ):
        limit, used = _read(directory / limit_file), _read(directory / used_file)
        if limit.isdigit() and used.isdigit():
            # Cached files count as used, and go as soon as memory is wanted.
            reclaimable = _pairs(directory / "memory.stat").get(cache, 0)
            groups.append(_MemoryGroup(int(limit), max(0, int(used) - reclaimable)))
    return groups


def _cpu_quotas(root: Path) -> list[int]:
    quotas = []
    for group in _groups(root, ""):
        quota, _, period = _read(group / "cpu.max").partition(" ")
        if quota.isdigit() and period.isdigit():
            quotas.append(max(1, math.ceil(int(quota) / int(period))))
    return quotas


def _groups(root: Path, controller: str) -> list[Path]:
    """Directories of this process's control group and its parents; "" is version 2's hierarchy."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == controller:
            top = root / "sys/fs/cgroup" / controller
            inner = top / path.lstrip("/")
            return [inner, *inner.parents[: len(inner.parts) - len(top.parts)]]
    return []


def _meminfo(root: Path) -> dict[str, int]:
    lines = _read(root / "proc/meminfo").splitlines()
    return {
        key: int(value.split()[0]) * 1024
        for key, _, value in (line.partition(":") for line in lines)
    }


# --- AMD cards ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Card:
    """An AMD GPU. Memory is in bytes."""

    name: str
    gfx: str
    """Its target in LLVM's naming, as "gfx1201"; empty where the kernel's compute driver is off."""
    pci: str
    """Its address, as "0000:03:00.0"."""
    vram_total: int
    vram_used: int
    integrated: bool
    """It is part of the processor and shares the machine's memory. Only the compute driver tells:
    False where that is off."""
    hip_index: int | None = None
    """Its number in HIP_VISIBLE_DEVICES; None where the kernel's compute driver is off."""

    @property
    def usable(self) -> bool:
        """A model can run on it: it has memory of its own, and the compute driver serves it."""
        return bool(self.gfx) and self.vram_total > 0 and not self.integrated


def card_memory() -> int | None:
    """Memory of the largest usable card; None: there is none."""
    return max((card.vram_total for card in _usable()), default=None)


def card_free_memory() -> int | None:
    """Free memory of that card."""
    card = max(_usable(), key=lambda card: card.vram_total, default=None)
    return None if card is None else card.vram_total - card.vram_used


def usable_card_memory(*, gpu_layers: int = -1) -> int | None:
    """Memory of the card that a model will run on; None: it will run on the CPU.

    `gpu_layers` is the setting; 0 keeps the model off the card.
    """
    return card_memory() if gpu_layers != 0 and built_for_cards() else None


def built_for_cards() -> bool:
    """The installed llama.cpp can use a card; it is looked at, not loaded."""
    spec = importlib.util.find_spec("llama_cpp")
    places = spec.submodule_search_locations if spec else None
    return any(
        file.name.startswith(_CARD_LIBRARIES)
        for place in places or ()
        for file in Path(place, "lib").glob("libggml-*")
    )


def find_cards(sys_root: Path = _SYS, ids: Path = _ROOT / _AMDGPU_IDS) -> list[Card]:
    """All AMD GPUs, in the order of their bus addresses.

    `sys_root` is where sysfs is mounted; `ids` is libdrm's list of marketing names.
    """
    nodes = _compute_nodes(sys_root)
    cards = []
    for device in sys_root.glob("class/drm/card*/device"):
        if not re.fullmatch(r"card\d+", device.parent.name) or _read(device / "vendor") != _AMD:
            continue
        pci = _uevent(device).get("PCI_SLOT_NAME", "")
        vram_total = int(_read(device / "mem_info_vram_total") or 0)
        node = nodes.get(pci)
        cards.append(
            Card(
                name=_marketing_name(device, ids),
                gfx=node.gfx if node else "",
                pci=pci,
                vram_total=vram_total,
                vram_used=int(_read(device / "mem_info_vram_used") or 0),
                integrated=node is not None and node.bank > vram_total * _SHARED_BANK_FACTOR,
                hip_index=node.hip_index if node else None,
            )
        )
    return sorted(cards, key=lambda card: card.pci)


def _usable() -> list[Card]:
    return [card for card in find_cards() if card.usable]


@dataclass(frozen=True)
class _Node:
    """A GPU as the compute driver (kfd) sees it."""

    gfx: str
    bank: int
    hip_index: int


def _compute_nodes(sys_root: Path) -> dict[str, _Node]:
    """The compute driver's GPUs by PCI address."""
    directories = sys_root.glob("class/kfd/kfd/topology/nodes/[0-9]*")
    nodes: dict[str, _Node] = {}
    for directory in sorted(directories, key=lambda directory: int(directory.name)):
        properties = _pairs(directory / "properties")
        if version := properties.get("gfx_target_version", 0):
            pci = _address(properties.get("domain", 0), properties.get("location_id", 0))
            bank = _pairs(directory / "mem_banks/0/properties").get("size_in_bytes", 0)
            nodes[pci] = _Node(_gfx(version), bank, hip_index=len(nodes))
    return nodes


def _gfx(version: int) -> str:
    """110000 is gfx1100, 90010 is gfx90a: the last two digits are hexadecimal."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _address(domain: int, location: int) -> str:
    return f"{domain:04x}:{location >> 8:02x}:{location >> 3 & 31:02x}.{location & 7}"


def _marketing_name(device: Path, ids: Path) -> str:
    wanted = tuple(
        _read(device / file).removeprefix("0x").upper() for file in ("device", "revision")
    )
    for line in _read(ids).splitlines():
        fields = [field.strip() for field in line.split(",", 2)]
        if len(fields) == 3 and (fields[0].upper(), fields[1].upper()) == wanted:
            return fields[2]
    return f"AMD GPU {wanted[0]}"


# --- small files ----------------------------------------------------------------------------


def _read(path: Path) -> str:
    """The file's text without its line end; empty where it cannot be read."""
    try:
        return path.read_text("utf-8", errors="replace").strip()
    except OSError:
        return ""


def _pairs(path: Path) -> dict[str, int]:
    """Lines of a name and a decimal number."""
    pairs = (line.split() for line in _read(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _uevent(device: Path) -> dict[str, str]:
    lines = _read(device / "uevent").splitlines()
    return {key: value for key, _, value in (line.partition("=") for line in lines)}
