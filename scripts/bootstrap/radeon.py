"""The Radeon cards that ROCm's kernel driver shows in sysfs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NODES = "class/kfd/kfd/topology/nodes"


@dataclass(frozen=True)
class Card:
    """A card of its own, not a part of the CPU."""

    gfx: str
    """The target of HIP's compiler, as in gfx1201."""
    hip_index: int
    """Its number in HIP_VISIBLE_DEVICES; integrated GPUs count."""


def discrete_cards(sys: Path = Path("/sys")) -> list[Card]:
    """All cards with memory of their own.

    Integrated GPUs are left out: llama.cpp splits a model over every GPU it sees, and dies with
    `invalid device function` on one that it was not built for.
    """
    nodes = sorted((sys / _NODES).glob("[0-9]*"), key=lambda node: int(node.name))
    vram = _vram_by_address(sys)
    cards = []
    hip_index = 0
    for node in nodes:
        properties = _properties(node / "properties")
        version = properties.get("gfx_target_version", 0)
        if not version:  # a CPU
            continue
        own = vram.get(_pci_address(properties))
        bank = _properties(node / "mem_banks/0/properties").get("size_in_bytes", 0)
        # An integrated GPU has a small carve-out as VRAM, and the main memory as its bank.
        if own is None or bank <= 2 * own:
            cards.append(Card(_gfx(version), hip_index))
        hip_index += 1
    return cards


def _gfx(version: int) -> str:
    """110000 is gfx1100, 90010 is gfx90a: decimal major, then minor and stepping in hex."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _pci_address(properties: Mapping[str, int]) -> str:
    location = properties.get("location_id", 0)
    bus, device, function = location >> 8, location >> 3 & 31, location & 7
    return f"{properties.get('domain', 0):04x}:{bus:02x}:{device:02x}.{function}"


def _vram_by_address(sys: Path) -> dict[str, int]:
    found = {}
    for device in (sys / "class/drm").glob("card*/device"):
        uevent = dict(line.partition("=")[::2] for line in _read(device / "uevent").splitlines())
        size = _read(device / "mem_info_vram_total")
        if size and "PCI_SLOT_NAME" in uevent:
            found[uevent["PCI_SLOT_NAME"]] = int(size)
    return found


def _properties(path: Path) -> dict[str, int]:
    """Lines of `key value`."""
    return {key: int(value) for key, value in (line.split() for line in _read(path).splitlines())}


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except OSError:  # containers hide the cards they may not use
        return ""
