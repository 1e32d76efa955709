"""Runs `scripts/prove_build.py` and explains how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .engine import Engine

_SCRIPT = Path(__file__).parents[1] / "prove_build.py"
WRONG_NUMBERS = "llama.cpp computes wrong numbers"
"""What that script says last when it decodes something else in two ways."""

_MASKS = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def prove(engine: Engine, python: Path, wheel: Path) -> None:
    """Decode with the installed llama-cpp-python; a bad `wheel` leaves the cache.

    Raises:
        SetupError: it cannot be imported, gives wrong numbers or was ended by a signal.
    """
    ended = subprocess.run(
        [python, _SCRIPT],
        capture_output=True,
        text=True,
        errors="replace",
        env=_masked(engine, os.environ),
        check=False,
    )
    if ended.returncode:
        reason = _reason(ended)
        bad = ended.returncode == -signal.SIGILL or reason == WRONG_NUMBERS
        if bad:
            wheel.unlink()
        hint = _rebuild_hint(wheel) if bad else _retry_hint(wheel)
        if engine.backend != "cpu":
            hint = f"COPYDRAFT_BACKEND=cpu runs without the card. {hint}"
        raise SetupError(f"the build of llama.cpp does not work here: {reason}", hint)
    devices = ended.stdout.splitlines()
    print(f"llama.cpp runs, on {', '.join(devices)}", file=sys.stderr)
    if engine.backend != "cpu" and all(name.startswith("CPU") for name in devices):
        print(f"copydraft: no card can be used, the CPU is.{_no_card(engine)}", file=sys.stderr)


def _masked(engine: Engine, environ: Mapping[str, str]) -> dict[str, str]:
    """Only the cards that were built for, unless the user chose."""
    masked = dict(environ)
    if engine.cards and not any(mask in environ for mask in _MASKS):
        masked["HIP_VISIBLE_DEVICES"] = ",".join(str(card.hip_index) for card in engine.cards)
    return masked


def _reason(ended: subprocess.CompletedProcess[str]) -> str:
    if ended.returncode < 0:
        name = signal.Signals(-ended.returncode).name
        if name == "SIGILL":
            return "it died by SIGILL, an instruction that this CPU does not have"
        return f"it died by {name}"
    lines = ended.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit status {ended.returncode}"


def _rebuild_hint(wheel: Path) -> str:
    return (
        f"It was removed from the cache: run this again to build it anew. If that fails too, "
        f"report it with /proc/cpuinfo and {wheel.parent}.log"
    )


def _retry_hint(wheel: Path) -> str:
    return (
        "Mend that (a library that is missing, memory that ran out), then run this again; "
        f"to build anew, remove {wheel.parent} before."
    )


def _no_card(engine: Engine) -> str:
    if engine.backend == "hip" and not os.access("/dev/kfd", os.R_OK | os.W_OK):
        return "\n  You may not open /dev/kfd: sudo usermod -aG render $USER, then log in again."
    return ""
