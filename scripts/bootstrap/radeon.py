"""The Radeon cards that llama.cpp is built for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from copydraft import devices


@dataclass(frozen=True)
class Card:
    """A card of its own, not a part of the CPU."""

    gfx: str
    """The target of HIP's compiler, as in gfx1201."""
    hip_index: int
    """Its number in HIP_VISIBLE_DEVICES; integrated GPUs count."""


def discrete_cards(sys: Path = Path("/sys")) -> list[Card]:
    """All cards with memory of their own, as HIP numbers them.

    Integrated GPUs are left out: llama.cpp splits a model over every GPU it sees, and dies with
    `invalid device function` on one that it was not built for.
    """
    cards = [
        Card(card.gfx, card.hip_index)
        for card in devices.find_cards(sys)
        if card.usable and card.hip_index is not None
    ]
    return sorted(cards, key=lambda card: card.hip_index)
