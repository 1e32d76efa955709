"""After an install a child process decodes; how it ends is explained."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import prove_build
from bootstrap import proof
from bootstrap.cpu import Cpu
from bootstrap.engine import Engine, Hip, choose
from bootstrap.errors import SetupError
from bootstrap.radeon import Card

PYTHON = Path(sys.executable)
ON_CPU = choose("cpu", Cpu((), frozenset()), [], None)
ON_CARD = choose(
    "hip", Cpu((), frozenset()), [Card("gfx1201", 1)], Hip(Path("/usr/bin/hipconfig"), (6, 4))
)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "key" / "llama.whl"
    path.parent.mkdir()
    path.touch()
    return path


def prove(monkeypatch: pytest.MonkeyPatch, wheel: Path, code: str, engine: Engine = ON_CPU) -> None:
    script = wheel.with_name("script.py")
    script.write_text(code)
    monkeypatch.setattr(proof, "_SCRIPT", script)
    proof.prove(engine, PYTHON, wheel)


def test_the_installed_llama_cpp_passes(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof.prove(ON_CPU, PYTHON, wheel)
    assert capsys.readouterr().err.startswith("llama.cpp runs, on CPU (")
    assert wheel.exists()


def test_a_build_that_computes_nonsense_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    right = prove_build.last_logits

    def wrong_when_wide(path: Path, widths: list[int]) -> prove_build.Logits:
        logits = right(path, widths)
        return logits if widths[0] == 1 else logits[::-1]

    monkeypatch.setattr(prove_build, "last_logits", wrong_when_wide)
    with pytest.raises(SystemExit, match=f"^{proof.WRONG_NUMBERS}$"):
        prove_build.main()


def test_death_by_an_illegal_instruction_is_named_and_the_wheel_removed(
    monkeypatch: pytest.MonkeyPatch, wheel: Path
) -> None:
    with pytest.raises(SetupError, match="SIGILL, an instruction that this CPU does not have") as e:
        prove(monkeypatch, wheel, "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    assert not wheel.exists()
    assert str(wheel.parent) + ".log" in e.value.hint


def test_a_build_that_computes_nonsense_is_removed(
    monkeypatch: pytest.MonkeyPatch, wheel: Path
) -> None:
    with pytest.raises(SetupError, match="wrong numbers"):
        prove(monkeypatch, wheel, f"raise SystemExit({proof.WRONG_NUMBERS!r})")
    assert not wheel.exists()


@pytest.mark.parametrize(
    "code",
    [
        "raise OSError('libamdhip64.so.6: cannot open shared object file')",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",  # as for want of memory
    ],
)
def test_a_build_that_is_not_to_blame_stays_in_the_cache(
    monkeypatch: pytest.MonkeyPatch, wheel: Path, code: str
) -> None:
    with pytest.raises(SetupError) as failed:
        prove(monkeypatch, wheel, code)
    assert wheel.exists()
    assert str(wheel.parent) in failed.value.hint


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, wheel: Path) -> None:
    code = "raise RuntimeError('libamdhip64.so.6: cannot open shared object file')"
    with pytest.raises(SetupError, match=r"libamdhip64\.so\.6: cannot open") as failed:
        prove(monkeypatch, wheel, code, ON_CARD)
    assert failed.value.hint.startswith("COPYDRAFT_BACKEND=cpu runs without the card.")


def test_only_the_cards_that_were_built_for_are_shown_to_it(
    monkeypatch: pytest.MonkeyPatch, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HIP_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("ROCR_VISIBLE_DEVICES", raising=False)
    code = "import os; print('ROCm0', os.environ['HIP_VISIBLE_DEVICES'])"
    prove(monkeypatch, wheel, code, ON_CARD)
    assert capsys.readouterr().err == "llama.cpp runs, on ROCm0 1\n"


@pytest.mark.parametrize("mask", ["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"])
def test_a_mask_of_the_users_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, wheel: Path, capsys: pytest.CaptureFixture[str], mask: str
) -> None:
    monkeypatch.setenv(mask, "5")
    code = "import os; print({n: t for n, t in os.environ.items() if 'VISIBLE' in n})"
    prove(monkeypatch, wheel, code, ON_CARD)
    assert f"{{'{mask}': '5'}}" in capsys.readouterr().err


def test_a_build_for_a_card_that_runs_on_the_cpu_says_so(
    monkeypatch: pytest.MonkeyPatch, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prove(monkeypatch, wheel, "print('CPU (AMD Ryzen 7 9800X3D)')", ON_CARD)
    assert "no card can be used, the CPU is" in capsys.readouterr().err
