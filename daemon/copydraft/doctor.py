"""What keeps copydraft from working on this machine, and what mends it.

A check yields findings; a fault that it meets in our own code becomes one too.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from copydraft import __version__, config, devices, paths
from copydraft.api import lifecycle
from copydraft.client import Client
from copydraft.defaults import context_for
from copydraft.errors import CopydraftError
from copydraft.models import catalog, library
from copydraft.models.gguf import memory_needed, read_metadata
from copydraft.protocol import Status
from copydraft.terminal_status import amount

State = Literal["ok", "warning", "problem"]

_CHILD_LIMIT_S = 60
_LEAST_FREE_BYTES = 2_000_000_000
_KFD = Path("/dev/kfd")
_CARD_VARIABLES = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION")
_REBUILD = "run `./scripts/run` in the checkout: it builds llama.cpp for this machine"


class Finding(msgspec.Struct, frozen=True):
    """The outcome of one check; `remedy` is empty where nothing has to be done."""

    check: str
    state: State
    message: str
    remedy: str = ""


Check = Callable[[], Iterator[Finding]]


def examine(checks: Mapping[str, Check] | None = None) -> list[Finding]:
    """Run all checks, what others build on first."""
    findings: list[Finding] = []
    for name, check in (CHECKS if checks is None else checks).items():
        try:
            findings.extend(check())
        except CopydraftError as error:
            findings.append(Finding(name, "problem", error.message, error.hint))
        except (OSError, subprocess.SubprocessError) as error:
            findings.append(Finding(name, "problem", f"it could not be checked: {error}"))
    return findings


# --- what it runs on ------------------------------------------------------------------------


def check_python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", "ok", f"copydraft {__version__}, Python {version}, {sys.executable}")


def check_compiler() -> Iterator[Finding]:
    for name in filter(None, (os.environ.get("CXX"), "c++", "g++", "clang++")):
        if path := shutil.which(name):
            yield Finding("compiler", "ok", f"{path}: {_first_line(path, '--version')}")
            return
    yield Finding(
        "compiler",
        "warning",
        "there is no C++ compiler; it is needed whenever llama.cpp has to be built",
        "install one: apt install g++, dnf install gcc-c++, or pacman -S gcc",
    )


def check_settings() -> Iterator[Finding]:
    config.load()
    changed = [
        f"{key} ({source})" for key, source in config.sources().items() if source != "default"
    ]
    yield Finding("settings", "ok", f"set: {', '.join(changed)}" if changed else "all defaults")


# --- llama.cpp ------------------------------------------------------------------------------


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


# --- cards ----------------------------------------------------------------------------------


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


# --- model, daemon, disk --------------------------------------------------------------------


def check_model() -> Iterator[Finding]:
    settings = config.load()
    card = devices.usable_card_memory(gpu_layers=settings.gpu_layers)
    name = settings.model or catalog.default_model(card)
    entry = catalog.MODELS.get(name.lower())
    if entry and not library.path_of(entry).is_file():
        yield Finding(
            "model",
            "warning",
            f"{entry.name} is not downloaded yet ({amount(entry.size)})",
            f"`copydraft model pull {entry.name}`; the first request does it too",
        )
        return
    metadata = read_metadata(library.resolve(name))
    context = min(context_for(settings, on_card=card is not None), metadata.context_length)
    needed = memory_needed(metadata, context)
    room = devices.total_memory() if card is None else card
    told = (
        f"{metadata.path}: {metadata.architecture}, {metadata.memory_kind}, "
        f"{amount(metadata.size)}; {amount(needed)} with {context:,} tokens of context"
    )
    if needed > room:
        yield Finding(
            "model",
            "problem",
            f"{told}: more than the {amount(room)} of this machine",
            catalog.what_fits(room, context),
        )
    else:
        yield Finding("model", "ok", told)


def check_daemon() -> Iterator[Finding]:
    if not lifecycle.is_held(paths.lock_path()):
        yield Finding("daemon", "ok", "not running; the first request starts it")
        return
    status = asyncio.run(_status())
    model = f"{status.model.name} on {status.model.device}" if status.model else "no model loaded"
    told = f"version {status.version}, process {status.pid}, {model}"
    if status.version != __version__:
        yield Finding(
            "daemon", "warning", f"{told}; this is {__version__}", "`copydraft daemon restart`"
        )
    else:
        yield Finding("daemon", "ok", told)
    yield from judge_environment(os.environ, _environment(status.pid))


async def _status() -> Status:
    async with await Client.connect(start=False) as client:
        return await client.status()


def judge_environment(ours: Mapping[str, str], daemons: Mapping[str, str]) -> Iterator[Finding]:
    """The daemon keeps the environment that it was started with, whatever a shell has now."""
    differing = [name for name in _CARD_VARIABLES if ours.get(name) != daemons.get(name)]
    if differing:
        yield Finding(
            "daemon",
            "warning",
            f"it was started with another {' and '.join(differing)} than this shell has",
            "`copydraft daemon restart`",
        )


def _environment(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return {name: value for name, _, value in (os.fsdecode(line).partition("=") for line in lines)}


def check_socket() -> Iterator[Finding]:
    path = paths.socket_path()
    if not path.exists():
        yield Finding("socket", "ok", f"{path}, made when the daemon starts")
    elif (mode := stat.S_IMODE(path.stat().st_mode)) != 0o600:
        yield Finding(
            "socket", "problem", f"{path} has mode {mode:o}", "`copydraft daemon restart`"
        )
    else:
        yield Finding("socket", "ok", f"{path}, only yours")


def check_disk() -> Iterator[Finding]:
    for name, directory in (("models", paths.models_dir()), ("state", paths.state_dir())):
        yield judge_directory(name, directory)


def judge_directory(name: str, directory: Path) -> Finding:
    """Whether copydraft can write there; the directory need not be there yet."""
    present = next(path for path in (directory, *directory.parents) if path.exists())
    if not os.access(present, os.W_OK | os.X_OK):
        return Finding(name, "problem", f"you may not write into {present}", "mend its permissions")
    free = shutil.disk_usage(present).free
    if free < _LEAST_FREE_BYTES:
        return Finding(
            name,
            "warning",
            f"{directory} has only {amount(free)} free",
            "free some; `copydraft model list` shows what models take",
        )
    return Finding(name, "ok", f"{directory}, {amount(free)} free")


def _first_line(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    return next(iter(done.stdout.splitlines()), "")


CHECKS: dict[str, Check] = {
    "python": check_python,
    "compiler": check_compiler,
    "settings": check_settings,
    "llama.cpp": check_engine,
    "cards": check_cards,
    "model": check_model,
    "socket": check_socket,
    "daemon": check_daemon,
    "disk": check_disk,
}
