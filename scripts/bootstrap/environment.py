"""`.venv` in the checkout: made, filled and checked against a stamp of what it was made from.

What an editor's extension carries is a checkout too, but for copydraft itself, which is a wheel
there.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from . import process
from .cpu import read_cpu
from .engine import AUTO, Engine, choose, find_hip
from .errors import SetupError
from .proof import prove
from .radeon import discrete_cards
from .wheel import wheel_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv" / "bin" / "python"

_VENV = ROOT / ".venv"
_STAMP = _VENV / "setup.json"
# Hatchling installs copydraft itself; the compilers' helpers beside it are one environment less.
_RUNTIME = [ROOT / "requirements.txt", ROOT / "requirements-build.txt"]
_DEV = [ROOT / "requirements-dev.txt"]
_PIP = (PYTHON, "-m", "pip", "install", "--no-deps", "--no-input", "--disable-pip-version-check")


def prepare(*, dev: bool = False, engine: bool = True) -> Path:
    """Bring `.venv` up to date; the path of its Python.

    Says on stderr what it does, and nothing where nothing is to be done.

    Raises:
        SetupError: something is missing on this machine, or a tool failed.
    """
    asked = _asked_backend()
    build = _engine_for_this_machine(asked) if engine else None
    wanted = _wanted(dev, build, asked)
    if _lacking(wanted):
        with _alone():
            _install(wanted, build)
    return PYTHON


def cache_dir() -> Path:
    """Copydraft's cache, where `copydraft.paths` has it too."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "copydraft"


def _engine_for_this_machine(asked: str) -> Engine:
    cards = discrete_cards()
    hip = find_hip(os.environ.get("PATH", "")) if cards else None
    override = os.environ.get("HSA_OVERRIDE_GFX_VERSION", "")
    return choose(asked, read_cpu(), cards, hip, override)


def _asked_backend() -> str:
    """What COPYDRAFT_BACKEND says, or said when llama.cpp was last installed."""
    return os.environ.get("COPYDRAFT_BACKEND") or _stored_stamp().get("backend", AUTO)


# --- what is there and what is wanted ---------------------------------------------------------


def _wanted(dev: bool, build: Engine | None, asked: str) -> dict[str, str]:
    """Each part of the environment with what it is made from."""
    wanted = {"packages": _digest([*_RUNTIME, _wheel() or ROOT / "pyproject.toml"])}
    if dev:
        wanted["dev"] = _digest(_DEV)
    if build:
        wanted["engine"] = build.key
        wanted["backend"] = asked
    return wanted


def _wheel() -> Path | None:
    """Copydraft as a wheel; None in a checkout."""
    return next(ROOT.glob("copydraft-*.whl"), None)


def _lacking(wanted: Mapping[str, str]) -> list[str]:
    stamp = _read_stamp()
    return [part for part in wanted if stamp.get(part) != wanted[part]]


def _digest(files: list[Path]) -> str:
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _place() -> str:
    """Scripts in `.venv` name its path; its packages belong to one version of Python."""
    return f"{ROOT} {PYTHON.resolve()}"


def _read_stamp() -> dict[str, str]:
    """Empty where `.venv` has to be made anew: missing, moved, half changed, its Python gone."""
    stamp = _stored_stamp()
    return stamp if stamp.get("place") == _place() and PYTHON.exists() else {}


def _stored_stamp() -> dict[str, str]:
    try:
        stamp: dict[str, str] = json.loads(_STAMP.read_text("utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return stamp


def _write_stamp(stamp: Mapping[str, str]) -> None:
    _STAMP.write_text(json.dumps(stamp), "utf-8")


@contextlib.contextmanager
def _changing(part: str, made_from: str) -> Iterator[None]:
    """Packages are replaced within: whoever is killed there leaves only the backend behind."""
    stamp = _read_stamp()
    _write_stamp({"backend": stamp.get("backend", AUTO)})
    try:
        yield
    except SetupError:  # pip put everything back
        stamp.pop(part, None)
        _write_stamp(stamp)
        raise
    _write_stamp({**stamp, part: made_from})


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One setup at a time: two builds would take twice as long each."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup means it
            signal.signal(number, signal.default_int_handler)
    cache = cache_dir()
    cache.mkdir(parents=True, exist_ok=True)
    # Of all that use the cache, and of this checkout: whoever has another cache has that, too.
    with (cache / "setup.lock").open("w") as lock, _opened(ROOT) as checkout:
        for one in (lock.fileno(), checkout):
            _lock(one)
        yield


@contextlib.contextmanager
def _opened(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("another setup of copydraft is running; waiting for it …", file=sys.stderr)
        fcntl.flock(descriptor, fcntl.LOCK_EX)


# --- installing -------------------------------------------------------------------------------


def _install(wanted: Mapping[str, str], build: Engine | None) -> None:
    if not _read_stamp():
        _make_venv()
    for part in _lacking(wanted):
        if part == "engine":
            assert build is not None
            _install_engine(build)
        elif part == "backend":
            # After the engine: a backend that could not be had is not asked for again.
            _write_stamp({**_read_stamp(), part: wanted[part]})
        else:
            with _changing(part, wanted[part]):
                _install_pinned(part)


def _make_venv() -> None:
    if importlib.util.find_spec("ensurepip") is None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SetupError(
            f"this Python {version} cannot make virtual environments (it has no ensurepip)",
            f"Install that part (Debian, Ubuntu: apt install python{version}-venv), "
            "then run this again.",
        )
    backend = _stored_stamp().get("backend", AUTO)
    process.run(
        [sys.executable, "-m", "venv", "--clear", _VENV],
        title="making .venv",
        log=cache_dir() / "venv.log",
    )
    _write_stamp({"place": _place(), "backend": backend})


def _install_pinned(part: str) -> None:
    files = _DEV if part == "dev" else _RUNTIME
    pins = sum(file.read_text("utf-8").count("==") for file in files)
    seen = 0

    def count(line: str) -> tuple[int, int]:
        nonlocal seen
        seen += bool(re.match("Collecting|Requirement already|Ignoring", line))
        return seen, pins

    process.run(
        [*_PIP, "--require-hashes", *(f"--requirement={file}" for file in files)],
        title=f"installing {'development ' if part == 'dev' else ''}packages",
        log=cache_dir() / "packages.log",
        count=count,
        hint="Can pip reach its index? (pip config list shows which.)",
    )
    if part == "packages":
        wheel = _wheel()
        source: list[str | Path] = ["--editable", ROOT]
        if wheel:
            source = ["--force-reinstall", wheel]
        process.run(
            [*_PIP, "--no-build-isolation", *source],
            title="installing copydraft",
            log=cache_dir() / "copydraft.log",
        )


def _install_engine(build: Engine) -> None:
    if build.warning:
        print(f"copydraft: {build.warning}", file=sys.stderr)
    wheel = wheel_for(build, PYTHON, cache_dir())
    replaces = "engine" in _read_stamp()
    with _changing("engine", build.key):
        process.run(
            [*_PIP, "--no-index", "--force-reinstall", wheel],
            title="installing llama.cpp",
            log=cache_dir() / "engine.log",
        )
        prove(build, PYTHON, wheel)
    if replaces:
        print(
            "a daemon that is running keeps the old build until `copydraft daemon restart`",
            file=sys.stderr,
        )
