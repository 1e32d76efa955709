"""Whether this user may use the machine's cards, and what of the environment hides them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from copydraft import devices
from copydraft.doctor.finding import Finding

_KFD = Path("/dev/kfd")


def check_cards() -> Iterator[Finding]:
    cards = devices.find_cards()
    yield from judge_masks(os.environ, cards)
    if any(card.usable for card in cards):
        yield judge_driver(_KFD)
    for card in cards:
        if not card.gfx:
            yield Finding(
                "cards",
                "warning",
                f"{card.name} is not used: the kernel's compute driver (kfd) does not list it",
                "if it is a card of its own, load the amdgpu module of a kernel with HSA_AMD",
            )


def judge_masks(environ: Mapping[str, str], cards: Sequence[devices.Card]) -> Iterator[Finding]:
    """Environment variables that hide cards, fail to hide them, or take them for others."""
    hip, rocr = environ.get("HIP_VISIBLE_DEVICES"), environ.get("ROCR_VISIBLE_DEVICES")
    override = environ.get("HSA_OVERRIDE_GFX_VERSION")
    if hip is not None and rocr is not None:
        yield Finding(
            "masks",
            "problem",
            f"HIP_VISIBLE_DEVICES={hip} counts only what ROCR_VISIBLE_DEVICES={rocr} leaves: "
            "together they can hide every card",
            "unset ROCR_VISIBLE_DEVICES",
        )
    elif cards and hip in ("", "-1"):
        yield Finding("masks", "problem", f"HIP_VISIBLE_DEVICES={hip} hides every card", "unset it")
    elif hip is None and rocr is None and len({card.integrated for card in cards}) == 2:
        names = [card.name for card in cards if card.integrated]
        yield Finding(
            "masks",
            "warning",
            f"llama.cpp may put a part of the model on the integrated {names[0]} and crash",
            "set HIP_VISIBLE_DEVICES to the number of the other card, counted from 0 "
            "as `rocminfo` lists them, then `copydraft daemon restart`",
        )
    if override and any(card.gfx.startswith("gfx12") for card in cards):
        yield Finding(
            "masks",
            "problem",
            f"HSA_OVERRIDE_GFX_VERSION={override} makes ROCm run code for another card, "
            "which gfx12 cards cannot",
            "unset it",
        )


def judge_driver(device: Path) -> Finding:
    """Whether this user may use `device`, by which ROCm reaches all cards."""
    if not device.exists():
        return Finding(
            "driver",
            "problem",
            f"{device} is missing: ROCm cannot reach the card",
            f"load the kernel's amdgpu module; in a container, pass --device={device}",
        )
    if not os.access(device, os.R_OK | os.W_OK):
        return Finding(
            "driver",
            "problem",
            f"you may not use {device}",
            "run `sudo usermod -aG render,video $USER` and log in again",
        )
    return Finding("driver", "ok", f"{device} can be used")
