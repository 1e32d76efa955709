"""llama-cpp-python's wheel comes from the cache, or is built and put there whole."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from bootstrap import wheel
from bootstrap.cpu import Cpu
from bootstrap.engine import PIN, Hip, choose
from bootstrap.errors import SetupError
from bootstrap.radeon import Card

ROOT = Path(__file__).parents[2]
ENGINE = choose("cpu", Cpu((), frozenset()), [], None)
NAME = "llama_cpp_python-0.3.36-py3-none-linux_x86_64.whl"


def executable(path: Path, code: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)
    return path


def fake_python(tmp_path: Path, code: str) -> Path:
    """Stands for `.venv/bin/python`: in its code, $dir is where pip should put the wheel."""
    find = 'while [ "$1" != --wheel-dir ]; do shift; done; dir=$2'
    return executable(tmp_path / "python", f"{find}\n{code}")


def test_a_wheel_in_the_cache_is_not_built_again(tmp_path: Path) -> None:
    cached = tmp_path / "wheels" / ENGINE.key / NAME
    cached.parent.mkdir(parents=True)
    cached.touch()
    python = fake_python(tmp_path, "exit 1")
    assert wheel.wheel_for(ENGINE, python, tmp_path) == cached


def test_a_built_wheel_is_moved_into_the_cache(tmp_path: Path) -> None:
    python = fake_python(tmp_path, f'echo built > "$dir/{NAME}"')
    found = wheel.wheel_for(ENGINE, python, tmp_path)
    assert found == tmp_path / "wheels" / ENGINE.key / NAME
    assert found.read_text() == "built\n"
    assert sorted(path.name for path in found.parents[1].iterdir()) == [
        ENGINE.key,
        f"{ENGINE.key}.log",
    ]


def test_a_failed_build_leaves_its_log_and_nothing_else(tmp_path: Path) -> None:
    python = fake_python(tmp_path, 'echo half > "$dir/half.whl"; echo "fatal error: no"; exit 1')
    with pytest.raises(SetupError, match="fatal error: no"):
        wheel.wheel_for(ENGINE, python, tmp_path)
    assert [path.name for path in (tmp_path / "wheels").iterdir()] == [f"{ENGINE.key}.log"]


def test_what_a_killed_build_left_is_swept_away(tmp_path: Path) -> None:
    left = tmp_path / "wheels" / f"{ENGINE.key}.partial" / "other.whl"
    left.parent.mkdir(parents=True)
    left.touch()
    python = fake_python(tmp_path, f'touch "$dir/{NAME}"')
    assert wheel.wheel_for(ENGINE, python, tmp_path).name == NAME


BACKEND = """\
import json, os, zipfile

def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "llama_cpp_python-0.3.36-py3-none-any.whl"
    info = "llama_cpp_python-0.3.36.dist-info"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as wheel:
        wheel.writestr("settings.json", json.dumps(config_settings))
        wheel.writestr("args.txt", os.environ.get("CMAKE_ARGS", ""))
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: llama-cpp-python\\n"
                       "Version: 0.3.36\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""


def write_sdist(folder: Path) -> str:
    """A package of the engine's name whose wheel tells how it was built; its hash."""
    path = folder / "llama_cpp_python-0.3.36.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in {
            "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\n'
            'backend-path = ["."]\n',
            "backend.py": BACKEND,
            "PKG-INFO": "Metadata-Version: 2.1\nName: llama-cpp-python\nVersion: 0.3.36\n",
        }.items():
            entry = tarfile.TarInfo(f"llama_cpp_python-0.3.36/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_options_reach_the_build_through_pip_and_by_no_other_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = tmp_path / "requirements-engine.txt"
    pin.write_text(f"# A comment\nllama-cpp-python==0.3.36 --hash=sha256:{write_sdist(tmp_path)}\n")
    monkeypatch.setattr(wheel, "PIN", pin)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA=ON")
    cards = [Card("gfx1100", 0), Card("gfx1201", 1)]
    hipconfig = executable(tmp_path / "hipconfig", "echo /rocm")
    engine = choose("hip", Cpu((), frozenset()), cards, Hip(hipconfig, (6, 4)))
    cache = tmp_path / "a cache"

    built = wheel.wheel_for(engine, Path(sys.executable), cache)

    with zipfile.ZipFile(built) as archive:
        settings = json.loads(archive.read("settings.json"))
        assert archive.read("args.txt") == b""
    assert settings == {
        "cmake.define.LLAVA_BUILD": "OFF",
        "cmake.define.LLAMA_BUILD_TOOLS": "OFF",
        "cmake.define.LLAMA_BUILD_EXAMPLES": "OFF",
        "cmake.define.LLAMA_BUILD_TESTS": "OFF",
        "cmake.define.LLAMA_BUILD_SERVER": "OFF",
        "cmake.define.GGML_NATIVE": "ON",
        "cmake.define.GGML_HIP": "ON",
        "cmake.define.GPU_TARGETS": "gfx1100;gfx1201",
        "cmake.define.CMAKE_PROJECT_INCLUDE": str(
            cache / "wheels" / f"{engine.key}.partial" / "lean.cmake"
        ),
    }


def test_a_build_for_a_card_uses_the_compiler_that_hipconfig_names(tmp_path: Path) -> None:
    hipconfig = executable(
        tmp_path / "hipconfig", "case $1 in -l) echo /rocm/llvm/bin;; -R) echo /rocm;; esac"
    )
    engine = choose("hip", Cpu((), frozenset()), [Card("gfx1201", 0)], Hip(hipconfig, (6, 4)))
    python = executable(tmp_path / "python", f'echo "$HIPCXX $HIP_PATH" > {tmp_path}/said; exit 1')
    with pytest.raises(SetupError) as failed:
        wheel.wheel_for(engine, python, tmp_path)
    assert (tmp_path / "said").read_text() == "/rocm/llvm/bin/clang++ /rocm\n"
    assert failed.value.message.startswith("building llama.cpp for gfx1201")


def test_a_machine_without_a_compiler_is_told_which_package_has_one(tmp_path: Path) -> None:
    executable(tmp_path / "dnf", "")
    executable(tmp_path / "gcc", "")
    with pytest.raises(SetupError, match="no C\\+\\+ compiler is found") as missing:
        wheel.require_compiler({"PATH": str(tmp_path)})
    assert missing.value.hint == "Install one (dnf install gcc-c++), then run this again."


def test_a_compiler_that_the_user_names_has_to_be_there(tmp_path: Path) -> None:
    for name in ("cc", "c++"):
        executable(tmp_path / name, "")
    wheel.require_compiler({"PATH": str(tmp_path)})
    with pytest.raises(SetupError, match="no C\\+\\+ compiler is found \\(icpx\\)"):
        wheel.require_compiler({"PATH": str(tmp_path), "CXX": "icpx -O2"})


def test_the_pinned_engine_is_the_one_that_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert PIN.read_text().split("\n")[1].removesuffix(" \\") in project["dependencies"]


@pytest.mark.parametrize("name", ["", "-dev", "-build", "-engine"])
def test_every_requirement_is_pinned_by_hash_and_names_no_host(name: str) -> None:
    text = (ROOT / f"requirements{name}.txt").read_text()
    assert "://" not in text
    pins = text.replace("\\\n", "").splitlines()
    unhashed = [pin for pin in pins if not pin.startswith("#") and "--hash=sha256:" not in pin]
    assert unhashed == []


@pytest.mark.parametrize("needed", ["numpy", "diskcache", "jinja2", "typing-extensions"])
def test_what_the_engine_imports_is_pinned_beside_it(needed: str) -> None:
    assert f"\n{needed}==" in (ROOT / "requirements.txt").read_text()
