"""llama-cpp-python's wheel for this machine: from the cache, or built and put there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from . import process
from .engine import PIN, Engine, Hip
from .errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Mapping

_STEP = re.compile(r"^\s*\[(\d+)/(\d+)\]")
# llama-cpp-python insists on llama.cpp's programs' common code, which no library needs and which
# is two fifths of the work. A plain variable set here hides the cached one that it forces.
_LEAN = "set(LLAMA_BUILD_COMMON OFF)\n"
_GIGABYTES_PER_JOB = {"cpu": 1.0, "vulkan": 1.0, "hip": 2.5}
_HINTS = {
    "cpu": "",
    "vulkan": "It needs Vulkan's headers 1.4, glslc and spirv-headers "
    "(Debian, Ubuntu: libvulkan-dev glslc spirv-headers).",
    "hip": "COPYDRAFT_BACKEND=cpu builds without the card.",
}
_COMPILER_PACKAGES = {
    "apt-get": "apt install g++",
    "dnf": "dnf install gcc-c++",
    "pacman": "pacman -S gcc",
    "zypper": "zypper install gcc-c++",
    "apk": "apk add g++ linux-headers",
}


def wheel_for(engine: Engine, python: Path, cache: Path) -> Path:
    """The wheel, built by `python`'s pip if `cache` has none.

    Raises:
        SetupError: there is no compiler, or the build failed.
    """
    folder = cache / "wheels" / engine.key
    return next(folder.glob("*.whl"), None) or _build(engine, python, folder)


def _build(engine: Engine, python: Path, folder: Path) -> Path:
    require_compiler(os.environ)
    # Everything temporary lies here, so that nothing is left of a build that was cut short.
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        process.run(
            _command(engine, python, partial),
            title=f"building llama.cpp for {_target(engine)} (once, some minutes)",
            log=folder.with_name(f"{folder.name}.log"),
            count=_ninja_step,
            environ=_build_environment(engine, partial),
            hint=_HINTS[engine.backend],
        )
        [built] = partial.glob("*.whl")
        folder.mkdir(exist_ok=True)
        return built.replace(folder / built.name)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _command(engine: Engine, python: Path, partial: Path) -> list[str]:
    lean = partial / "lean.cmake"
    lean.write_text(_LEAN, "utf-8")
    options = {**engine.options, "CMAKE_PROJECT_INCLUDE": str(lean)}
    # pip passes settings of its command line only to packages that are named there, and hashes
    # are read only from a file.
    requirement = partial / "requirement.txt"
    settings = [f'--config-settings="cmake.define.{name}={options[name]}"' for name in options]
    requirement.write_text(" \\\n    ".join([PIN.read_text("utf-8").strip(), *settings]), "utf-8")
    return [
        *(str(python), "-u", "-m", "pip", "wheel", "--verbose", "--no-input"),
        # pip's cache would give back a wheel that was built with other options.
        *("--no-cache-dir", "--no-deps", "--no-build-isolation", "--require-hashes"),
        *("--no-binary", "llama-cpp-python", "--requirement", str(requirement)),
        *("--wheel-dir", str(partial)),
    ]


def _target(engine: Engine) -> str:
    if engine.backend == "hip":
        return engine.options["GPU_TARGETS"].replace(";", " and ")
    return {"cpu": "this CPU", "vulkan": "Vulkan"}[engine.backend]


def _ninja_step(line: str) -> tuple[int, int] | None:
    found = _STEP.match(line)
    return (int(found[1]), int(found[2])) if found else None


def _build_environment(engine: Engine, partial: Path) -> dict[str, str]:
    # The cache's key knows nothing of options that come by the environment.
    environ = {name: text for name, text in os.environ.items() if name != "CMAKE_ARGS"}
    environ["TMPDIR"] = str(partial)
    environ["CMAKE_BUILD_PARALLEL_LEVEL"] = str(_jobs(_GIGABYTES_PER_JOB[engine.backend]))
    if engine.hip:
        environ |= _hip_environment(engine.hip)
    return environ


def _hip_environment(hip: Hip) -> dict[str, str]:
    compilers, root = (_ask(hip.hipconfig, flag) for flag in ("-l", "-R"))
    return {"HIPCXX": f"{compilers}/clang++", "HIP_PATH": root}


def _ask(hipconfig: Path, flag: str) -> str:
    ended = subprocess.run([str(hipconfig), flag], capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SetupError(
            f"{hipconfig} {flag} failed: {ended.stderr.strip()}",
            "Mend the ROCm installation, or build without the card: COPYDRAFT_BACKEND=cpu.",
        )
    return ended.stdout.strip()


def _jobs(gigabytes_each: float) -> int:
    """Compilers to run at once: one for each core, as far as the free memory goes."""
    meminfo = Path("/proc/meminfo").read_text("utf-8")
    [kilobytes] = re.findall(r"^MemAvailable: +(\d+) kB$", meminfo, re.MULTILINE)
    cores = len(os.sched_getaffinity(0))
    return max(1, min(cores, int(int(kilobytes) / 2**20 / gigabytes_each)))


def require_compiler(environ: Mapping[str, str]) -> None:
    """Raises SetupError, naming the package, where cmake would find no C or no C++ compiler."""
    for language, variable, names in (
        ("C", "CC", ("cc", "gcc", "clang")),
        ("C++", "CXX", ("c++", "g++", "clang++")),
    ):
        asked = shlex.split(environ.get(variable, ""))[:1]
        path = environ.get("PATH")
        if not any(shutil.which(name, path=path) for name in asked or names):
            managers = (name for name in _COMPILER_PACKAGES if shutil.which(name, path=path))
            command = _COMPILER_PACKAGES.get(next(managers, ""), "your system's package for g++")
            raise SetupError(
                f"no {language} compiler is found ({', '.join(asked or names)}), "
                "and llama.cpp has to be built for this machine",
                f"Install one ({command}), then run this again.",
            )
