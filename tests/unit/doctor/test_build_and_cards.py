"""The doctor on llama.cpp: whether the build runs, and what keeps it from the cards."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from copydraft import devices
from copydraft.doctor import build, cards

CPU = ("CPU", "AMD Ryzen 7 9800X3D", False)
ROCM = ("ROCm0", "AMD Radeon RX 9070 XT", True)


def card(
    name: str = "RX 9070 XT", gfx: str = "gfx1201", *, integrated: bool = False
) -> devices.Card:
    return devices.Card(
        name=name,
        gfx=gfx,
        pci="0000:03:00.0",
        vram_total=17_095_983_104,
        vram_used=0,
        integrated=integrated,
    )


INTEGRATED = card("Radeon Graphics", "gfx1036", integrated=True)


def test_a_build_that_dies_is_found_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_PROBE", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    [finding] = build.check_engine()
    assert finding.state == "problem"
    assert finding.message == "this build has instructions that the CPU lacks"


def test_a_build_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_PROBE", "import time; time.sleep(60)")
    monkeypatch.setattr(build, "_CHILD_LIMIT_S", 0.2)
    [finding] = build.check_engine()
    assert (finding.state, finding.message) == ("problem", "it does not start within 0.2 s")


@pytest.mark.parametrize(
    ("status", "printed", "message"),
    [
        (-signal.SIGSEGV, "", "it dies by SIGSEGV when it is loaded"),
        (
            1,
            "Traceback\nOSError: libamdhip64.so.6: cannot open the file\n",
            "ROCm's libraries are missing: OSError: libamdhip64.so.6: cannot open the file",
        ),
        (
            1,
            "ModuleNotFoundError: No module named 'llama_cpp'\n",
            "it cannot be loaded: ModuleNotFoundError: No module named 'llama_cpp'",
        ),
        (3, "", "it cannot be loaded: exit status 3"),
    ],
)
def test_a_broken_build_is_explained(status: int, printed: str, message: str) -> None:
    finding = build.judge_broken_build(status, printed)
    assert (finding.state, finding.message) == ("problem", message)
    assert finding.remedy


# --- cards ------------------------------------------------------------------------------------


def test_a_card_that_the_build_sees_is_well() -> None:
    assert build.judge_devices([ROCM, CPU], [card()], built_for_cards=True).message == (
        "ROCm0 (AMD Radeon RX 9070 XT), CPU (AMD Ryzen 7 9800X3D)"
    )


def test_a_card_that_the_build_does_not_see_is_a_problem() -> None:
    finding = build.judge_devices([CPU], [INTEGRATED, card()], built_for_cards=True)
    assert finding.state == "problem"
    assert finding.message == (
        "this machine has RX 9070 XT, but llama.cpp only sees CPU (AMD Ryzen 7 9800X3D)"
    )


@pytest.mark.parametrize("present", [[], [INTEGRATED]])
def test_no_card_of_its_own_is_no_problem(present: list[devices.Card]) -> None:
    assert build.judge_devices([CPU], present, built_for_cards=False).state == "ok"


def test_a_card_beside_a_build_for_the_cpu_is_a_warning() -> None:
    finding = build.judge_devices([CPU], [card()], built_for_cards=False)
    assert finding.state == "warning"
    assert finding.message == "this machine has RX 9070 XT, but llama.cpp is built for the CPU"


def test_a_card_that_the_compute_driver_does_not_list_is_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "find_cards", lambda: [card(gfx="")])
    [finding] = cards.check_cards()
    assert (finding.check, finding.state) == ("cards", "warning")
    assert finding.message.startswith("RX 9070 XT is not used")


@pytest.mark.parametrize(
    ("environ", "present", "states"),
    [
        ({}, [card()], []),
        ({"HIP_VISIBLE_DEVICES": "0"}, [card()], []),
        ({"HIP_VISIBLE_DEVICES": "0", "ROCR_VISIBLE_DEVICES": "0"}, [card()], ["problem"]),
        ({"HIP_VISIBLE_DEVICES": ""}, [card()], ["problem"]),
        ({"HIP_VISIBLE_DEVICES": "-1"}, [card()], ["problem"]),
        ({"HIP_VISIBLE_DEVICES": "-1"}, [], []),
        ({}, [INTEGRATED, card()], ["warning"]),
        ({"HIP_VISIBLE_DEVICES": "0"}, [INTEGRATED, card()], []),
        ({"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}, [card()], ["problem"]),
        ({"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}, [card(gfx="gfx1102")], []),
    ],
)
def test_masks_that_hide_or_confuse_cards_are_told(
    environ: dict[str, str], present: list[devices.Card], states: list[str]
) -> None:
    assert [finding.state for finding in cards.judge_masks(environ, present)] == states


def test_a_missing_driver_is_a_problem(tmp_path: Path) -> None:
    finding = cards.judge_driver(tmp_path / "kfd")
    assert finding.message == f"{tmp_path}/kfd is missing: ROCm cannot reach the card"


def test_a_driver_that_only_others_may_use_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kfd").touch()
    assert cards.judge_driver(tmp_path / "kfd").state == "ok"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert cards.judge_driver(tmp_path / "kfd").message == f"you may not use {tmp_path}/kfd"
