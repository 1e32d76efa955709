"""Whether this build of llama.cpp runs here, and whether it sees the machine's cards."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence

import msgspec

from copydraft import devices
from copydraft.doctor.finding import Finding

_CHILD_LIMIT_S = 60
_REBUILD = "run `./scripts/run` in the checkout: it builds llama.cpp for this machine"


class Build(msgspec.Struct, frozen=True):
    """What the child process found out about this build of llama.cpp."""

    version: str
    system: str
    """llama.cpp's own list of what it was built for."""
    devices: list[tuple[str, str, bool]]
    """Name, description, whether it is a card."""


_PROBE = """
import json, llama_cpp
from copydraft.engine import llama
print(json.dumps({
    "version": llama_cpp.__version__,
    "system": llama_cpp.llama_print_system_info().decode(),
    # 1 is a card, 2 an integrated one.
    "devices": [(name, told, kind in (1, 2)) for kind, name, told in llama.devices()],
}))
"""
"""A child process runs it, since a bad build ends its process, and not by an exception."""


def check_engine() -> Iterator[Finding]:
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PROBE],
            capture_output=True,
            text=True,
            check=False,
            timeout=_CHILD_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        yield Finding(
            "llama.cpp", "problem", f"it does not start within {_CHILD_LIMIT_S} s", _REBUILD
        )
        return
    if done.returncode:
        yield judge_broken_build(done.returncode, done.stderr)
        return
    build = msgspec.json.decode(done.stdout.splitlines()[-1], type=Build)
    flags = build.system.replace(" = 1", "").replace(" |", ",").strip(" ,")
    yield Finding("llama.cpp", "ok", f"llama-cpp-python {build.version}, built with {flags}")
    yield judge_devices(
        build.devices, devices.find_cards(), built_for_cards=devices.built_for_cards()
    )


def judge_broken_build(status: int, printed: str) -> Finding:
    """Why the child ended so: `status` is negative for a signal, `printed` was on stderr."""
    if status == -signal.SIGILL:
        return Finding(
            "llama.cpp", "problem", "this build has instructions that the CPU lacks", _REBUILD
        )
    if status < 0:
        name = signal.Signals(-status).name
        return Finding("llama.cpp", "problem", f"it dies by {name} when it is loaded", _REBUILD)
    lines = [line for line in printed.splitlines() if line.strip()]
    said = lines[-1].strip() if lines else f"exit status {status}"
    if "libamdhip64" in said or "librocblas" in said or "libhipblas" in said:
        return Finding(
            "llama.cpp",
            "problem",
            f"ROCm's libraries are missing: {said}",
            "install ROCm's runtime again, or run COPYDRAFT_BACKEND=cpu ./scripts/run",
        )
    return Finding("llama.cpp", "problem", f"it cannot be loaded: {said}", _REBUILD)


def judge_devices(
    found: Sequence[tuple[str, str, bool]],
    cards: Sequence[devices.Card],
    *,
    built_for_cards: bool,
) -> Finding:
    """What a build sees, given the cards that the machine has."""
    names = ", ".join(f"{name} ({description})" for name, description, _ in found)
    lost = [card.name for card in cards if card.usable]
    if not lost or any(is_card for _, _, is_card in found):
        return Finding("devices", "ok", names)
    if not built_for_cards:
        return Finding(
            "devices",
            "warning",
            f"this machine has {lost[0]}, but llama.cpp is built for the CPU",
            "run COPYDRAFT_BACKEND=hip ./scripts/run for a build with ROCm",
        )
    return Finding(
        "devices",
        "problem",
        f"this machine has {lost[0]}, but llama.cpp only sees {names}",
        "see whether `rocminfo` lists the card",
    )
