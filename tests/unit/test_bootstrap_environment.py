"""`.venv` is made once, and changed only where what it was made from changed."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bootstrap import command, environment, interpreter
from bootstrap.cpu import Cpu
from bootstrap.engine import Engine, choose
from bootstrap.errors import SetupError

ENGINE = choose("cpu", Cpu((), frozenset()), [], None)


class Checkout:
    """A checkout in a temporary directory; tools that would be run are written down instead."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.steps: list[str] = []
        self.commands: dict[str, list[object]] = {}
        self.engine = ENGINE
        self.asked = ""
        self.when_run: Callable[[str], None] = lambda title: None
        self._monkeypatch = monkeypatch
        self.lie_at(root)
        for name in ("requirements.txt", "requirements-dev.txt", "requirements-build.txt"):
            self.write(name, "a==1 --hash=sha256:00\n")
        self.write("pyproject.toml", "")
        monkeypatch.setattr("bootstrap.process.run", self._run)
        monkeypatch.setattr("signal.signal", lambda *_: None)
        monkeypatch.setattr(environment, "_engine_for_this_machine", self._choose)
        monkeypatch.setattr(environment, "wheel_for", self._wheel_for)
        monkeypatch.setattr(environment, "prove", lambda *_: self.steps.append("proving"))

    def lie_at(self, root: Path) -> None:
        self.root = root
        for name, path in {
            "ROOT": root,
            "_VENV": root / ".venv",
            "PYTHON": root / ".venv/bin/python",
            "_STAMP": root / ".venv/setup.json",
            "_RUNTIME": [root / "requirements.txt", root / "requirements-build.txt"],
            "_DEV": [root / "requirements-dev.txt"],
        }.items():
            self._monkeypatch.setattr(environment, name, path)

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def prepare(self, *, dev: bool = False, engine: bool = True) -> list[str]:
        """The steps that were taken."""
        self.steps = []
        environment.prepare(dev=dev, engine=engine)
        return self.steps

    def _run(self, command: list[object], *, title: str, **_: object) -> None:
        self.steps.append(title)
        self.commands[title] = command
        self.when_run(title)
        if title == "making .venv":
            python = self.root / ".venv/bin/python"
            python.parent.mkdir(parents=True, exist_ok=True)
            python.unlink(missing_ok=True)
            python.symlink_to(sys.executable)

    def _choose(self, asked: str) -> Engine:
        self.asked = asked
        return self.engine

    def _wheel_for(self, engine: Engine, *_: object) -> Path:
        self.steps.append(f"wheel for {engine.backend}")
        return Path("llama.whl")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    root = tmp_path / "checkout"
    root.mkdir()
    return Checkout(root, monkeypatch)


EVERYTHING = [
    "making .venv",
    "installing packages",
    "installing copydraft",
    "wheel for cpu",
    "installing llama.cpp",
    "proving",
]


def test_the_first_start_installs_everything(checkout: Checkout) -> None:
    assert checkout.prepare() == EVERYTHING


def test_the_second_start_does_nothing(checkout: Checkout) -> None:
    checkout.prepare()
    assert checkout.prepare() == []


def test_whoever_has_another_cache_does_not_change_the_checkout_meanwhile(
    checkout: Checkout,
) -> None:
    free: list[bool] = []

    def try_to_lock(_: str) -> None:
        directory = os.open(checkout.root, os.O_RDONLY)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free.append(True)
        except BlockingIOError:
            free.append(False)
        os.close(directory)

    checkout.when_run = try_to_lock
    checkout.prepare()
    assert set(free) == {False}
    try_to_lock("")
    assert free[-1]


def test_a_wheel_is_installed_where_there_is_no_source(checkout: Checkout) -> None:
    wheel = checkout.root / "copydraft-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"one")
    checkout.prepare()
    assert checkout.commands["installing copydraft"][-2:] == ["--force-reinstall", wheel]
    assert checkout.prepare() == []
    wheel.write_bytes(b"another of the same version")
    assert checkout.prepare() == ["installing packages", "installing copydraft"]


def test_a_checkout_is_installed_as_it_stands(checkout: Checkout) -> None:
    checkout.prepare()
    assert checkout.commands["installing copydraft"][-2:] == ["--editable", checkout.root]


def test_tests_add_the_development_packages_and_only_those(checkout: Checkout) -> None:
    checkout.prepare()
    assert checkout.prepare(dev=True) == ["installing development packages"]
    assert checkout.prepare() == []


def test_checks_do_not_wait_for_llama_cpp(checkout: Checkout) -> None:
    assert checkout.prepare(dev=True, engine=False) == [
        "making .venv",
        "installing packages",
        "installing copydraft",
        "installing development packages",
    ]


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-build.txt", "pyproject.toml"])
def test_new_requirements_are_installed_over_the_old_ones(checkout: Checkout, name: str) -> None:
    checkout.prepare()
    checkout.write(name, "b==2")
    assert checkout.prepare() == ["installing packages", "installing copydraft"]


def test_another_backend_replaces_only_llama_cpp(checkout: Checkout) -> None:
    checkout.prepare()
    checkout.engine = choose("vulkan", Cpu((), frozenset()), [], None)
    assert checkout.prepare() == ["wheel for vulkan", "installing llama.cpp", "proving"]


def test_only_another_build_tells_to_restart_the_daemon(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.prepare()
    assert "copydraft daemon restart" not in capsys.readouterr().err
    checkout.engine = choose("vulkan", Cpu((), frozenset()), [], None)
    checkout.prepare()
    assert "copydraft daemon restart" in capsys.readouterr().err


def test_a_backend_once_asked_for_is_kept_until_another_is(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout.prepare()
    assert checkout.asked == "auto"
    monkeypatch.setenv("COPYDRAFT_BACKEND", "vulkan")
    checkout.prepare()
    monkeypatch.delenv("COPYDRAFT_BACKEND")
    checkout.prepare()
    assert checkout.asked == "vulkan"
    monkeypatch.setenv("COPYDRAFT_BACKEND", "auto")
    checkout.prepare()
    monkeypatch.delenv("COPYDRAFT_BACKEND")
    checkout.prepare()
    assert checkout.asked == "auto"


def test_a_backend_that_could_not_be_installed_is_not_kept(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(title: str) -> None:
        if title == "installing llama.cpp":
            raise SetupError("no", "")

    checkout.prepare()
    checkout.engine = choose("vulkan", Cpu((), frozenset()), [], None)
    checkout.when_run = fail
    monkeypatch.setenv("COPYDRAFT_BACKEND", "vulkan")
    with pytest.raises(SetupError):
        checkout.prepare()
    monkeypatch.delenv("COPYDRAFT_BACKEND")
    checkout.when_run = lambda title: None
    checkout.prepare()
    assert checkout.asked == "auto"


def test_an_install_that_was_cut_short_is_begun_anew(checkout: Checkout) -> None:
    def cut_short(title: str) -> None:
        if title == "installing packages":
            raise KeyboardInterrupt

    checkout.when_run = cut_short
    with pytest.raises(KeyboardInterrupt):
        checkout.prepare()
    checkout.when_run = lambda title: None
    assert checkout.prepare() == EVERYTHING


def test_an_install_that_was_cut_short_does_not_forget_the_backend(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_short(title: str) -> None:
        if title == "installing packages":
            raise KeyboardInterrupt

    monkeypatch.setenv("COPYDRAFT_BACKEND", "vulkan")
    checkout.prepare()
    monkeypatch.delenv("COPYDRAFT_BACKEND")
    checkout.write("requirements.txt", "b==2")
    checkout.when_run = cut_short
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            checkout.prepare()
    checkout.when_run = lambda title: None
    checkout.prepare()
    assert checkout.asked == "vulkan"


def test_a_failed_step_is_taken_again_and_the_ones_before_are_not(checkout: Checkout) -> None:
    def fail(title: str) -> None:
        if title == "installing llama.cpp":
            raise SetupError("no", "")

    checkout.when_run = fail
    with pytest.raises(SetupError):
        checkout.prepare()
    checkout.when_run = lambda title: None
    assert checkout.prepare() == EVERYTHING[3:]


def test_a_checkout_that_was_moved_gets_a_new_environment(
    checkout: Checkout, tmp_path: Path
) -> None:
    checkout.prepare()
    checkout.root.rename(tmp_path / "moved")
    checkout.lie_at(tmp_path / "moved")
    assert checkout.prepare() == EVERYTHING


def test_an_environment_whose_python_is_gone_is_made_anew(checkout: Checkout) -> None:
    checkout.prepare()
    python = checkout.root / ".venv/bin/python"
    python.unlink()
    python.symlink_to(checkout.root / "no python")
    assert checkout.prepare() == EVERYTHING


def test_a_python_without_ensurepip_is_told_the_package(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SetupError, match="cannot make virtual environments") as missing:
        checkout.prepare()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"apt install python{version}-venv" in missing.value.hint


def test_a_problem_ends_the_script_with_a_message_and_no_traceback(
    checkout: Checkout,
) -> None:
    def fail(title: str) -> None:
        raise SetupError(f"{title} failed", "Mend it.")

    checkout.when_run = fail
    with pytest.raises(SystemExit) as ended:
        command.prepared()
    assert ended.value.code == "copydraft: making .venv failed\n  Mend it."


def test_the_stamp_says_where_it_belongs_and_that_the_engine_is_there(checkout: Checkout) -> None:
    """VS Code's extension reads it: see vscode-extension/src/setup.ts."""
    checkout.prepare()
    stamp = json.loads((checkout.root / ".venv/setup.json").read_text())
    assert stamp["place"] == f"{checkout.root} {Path(sys.executable).resolve()}"
    assert stamp["engine"] == ENGINE.key


def test_an_interrupt_ends_the_script_as_shells_expect(checkout: Checkout) -> None:
    def interrupt(title: str) -> None:
        raise KeyboardInterrupt

    checkout.when_run = interrupt
    with pytest.raises(SystemExit) as ended:
        command.prepared()
    assert ended.value.code == 130


def test_an_old_python_starts_over_in_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python3.13").write_text("#!/bin/sh\nexit 127\n")  # as pyenv's are
    (tmp_path / "python3.13").chmod(0o755)
    newer = tmp_path / "python3.12"
    newer.symlink_to("/bin/true")
    started: list[object] = []
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    monkeypatch.setattr(sys, "argv", ["scripts/run", "status"])
    monkeypatch.setattr("os.execv", lambda *call: started.append(call))
    with pytest.raises(SystemExit):  # execv would not have come back
        interpreter.require()
    assert started == [(str(newer), [str(newer), "scripts/run", "status"])]


def test_an_old_python_alone_is_told_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    with pytest.raises(SystemExit) as ended:
        interpreter.require()
    # Editors show the lines from this name on: see vscode-extension/src/programs.ts.
    assert str(ended.value).startswith(
        "copydraft: Python 3.11 or newer is needed, and this is 3.9.\n  Install one ("
    )
