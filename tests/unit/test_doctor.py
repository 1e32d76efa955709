"""The doctor: what it finds in a machine, and what it advises."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from copydraft import cli, config, devices, doctor, paths
from copydraft.doctor import Finding
from copydraft.errors import DiskProblem
from copydraft.models.gguf import read_metadata

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


# --- the whole --------------------------------------------------------------------------------


def test_a_fault_in_one_check_becomes_a_problem_and_the_others_still_run() -> None:
    def failing() -> Iterator[Finding]:
        yield Finding("first", "ok", "well")
        raise DiskProblem("the disk is full", "free some")

    def working() -> Iterator[Finding]:
        yield Finding("second", "ok", "well too")

    assert doctor.examine({"first": failing, "second": working}) == [
        Finding("first", "ok", "well"),
        Finding("first", "problem", "the disk is full", "free some"),
        Finding("second", "ok", "well too"),
    ]


@pytest.mark.parametrize(
    "fault", [PermissionError("not yours"), subprocess.TimeoutExpired(["c++"], 10)]
)
def test_what_the_system_refuses_becomes_a_problem_of_that_check(fault: Exception) -> None:
    def failing() -> Iterator[Finding]:
        yield from ()
        raise fault

    assert doctor.examine({"first": failing}) == [
        Finding("first", "problem", f"it could not be checked: {fault}")
    ]


@pytest.mark.parametrize(("state", "status"), [("ok", 0), ("warning", 0), ("problem", 1)])
def test_the_exit_status_is_one_if_there_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, state: doctor.State, status: int
) -> None:
    finding = Finding("disk", state, "as it is", "mend it")
    monkeypatch.setattr(doctor, "examine", lambda: [Finding("python", "ok", "3.11"), finding])
    result = CliRunner().invoke(cli.cli, ["doctor"])
    assert result.exit_code == status
    assert result.stdout == (
        f"ok       python  3.11\n{state:<7}  disk    as it is\n                 → mend it\n"
    )


def test_json_holds_every_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: [Finding("disk", "problem", "full", "free it")])
    result = CliRunner().invoke(cli.cli, ["doctor", "--json"])
    assert json.loads(result.stdout) == {
        "findings": [{"check": "disk", "state": "problem", "message": "full", "remedy": "free it"}]
    }


def test_a_sound_machine_has_no_problems() -> None:
    assert [found for found in doctor.examine() if found.state == "problem"] == []


# --- llama.cpp --------------------------------------------------------------------------------


def test_a_build_that_dies_is_found_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_PROBE", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    [finding] = doctor.check_engine()
    assert finding.state == "problem"
    assert finding.message == "this build has instructions that the CPU lacks"


def test_a_build_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_PROBE", "import time; time.sleep(60)")
    monkeypatch.setattr(doctor, "_CHILD_LIMIT_S", 0.2)
    [finding] = doctor.check_engine()
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
    finding = doctor.judge_broken_build(status, printed)
    assert (finding.state, finding.message) == ("problem", message)
    assert finding.remedy


# --- cards ------------------------------------------------------------------------------------


def test_a_card_that_the_build_sees_is_well() -> None:
    assert doctor.judge_devices([ROCM, CPU], [card()], built_for_cards=True).message == (
        "ROCm0 (AMD Radeon RX 9070 XT), CPU (AMD Ryzen 7 9800X3D)"
    )


def test_a_card_that_the_build_does_not_see_is_a_problem() -> None:
    finding = doctor.judge_devices([CPU], [INTEGRATED, card()], built_for_cards=True)
    assert finding.state == "problem"
    assert finding.message == (
        "this machine has RX 9070 XT, but llama.cpp only sees CPU (AMD Ryzen 7 9800X3D)"
    )


@pytest.mark.parametrize("cards", [[], [INTEGRATED]])
def test_no_card_of_its_own_is_no_problem(cards: list[devices.Card]) -> None:
    assert doctor.judge_devices([CPU], cards, built_for_cards=False).state == "ok"


def test_a_card_beside_a_build_for_the_cpu_is_a_warning() -> None:
    finding = doctor.judge_devices([CPU], [card()], built_for_cards=False)
    assert finding.state == "warning"
    assert finding.message == "this machine has RX 9070 XT, but llama.cpp is built for the CPU"


def test_a_card_that_the_compute_driver_does_not_list_is_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "find_cards", lambda: [card(gfx="")])
    [finding] = doctor.check_cards()
    assert (finding.check, finding.state) == ("cards", "warning")
    assert finding.message.startswith("RX 9070 XT is not used")


@pytest.mark.parametrize(
    ("environ", "cards", "states"),
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
    environ: dict[str, str], cards: list[devices.Card], states: list[str]
) -> None:
    assert [finding.state for finding in doctor.judge_masks(environ, cards)] == states


def test_a_missing_driver_is_a_problem(tmp_path: Path) -> None:
    finding = doctor.judge_driver(tmp_path / "kfd")
    assert finding.message == f"{tmp_path}/kfd is missing: ROCm cannot reach the card"


def test_a_driver_that_only_others_may_use_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kfd").touch()
    assert doctor.judge_driver(tmp_path / "kfd").state == "ok"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert doctor.judge_driver(tmp_path / "kfd").message == f"you may not use {tmp_path}/kfd"


# --- model, daemon, disk ----------------------------------------------------------------------


def test_a_model_that_is_not_here_yet_is_a_warning() -> None:
    [finding] = doctor.check_model()
    assert finding.state == "warning"
    assert "is not downloaded yet" in finding.message


def test_a_model_that_fits_is_described(dense_model: Path) -> None:
    config.store("model", str(dense_model))
    [finding] = doctor.check_model()
    assert finding.state == "ok"
    assert finding.message.startswith(f"{dense_model}: qwen2, dense, ")


def test_a_model_that_does_not_fit_is_a_problem(
    dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "usable_card_memory", lambda **_: 1_000_000)
    config.store("model", str(dense_model))
    [finding] = doctor.check_model()
    assert finding.state == "problem"
    assert "more than the 1 MB of this machine" in finding.message


@pytest.mark.parametrize(("memory", "context"), [(None, "8,192"), (10**10, "32,768")])
def test_memory_is_judged_for_the_context_that_the_daemon_will_use(
    dense_model: Path, monkeypatch: pytest.MonkeyPatch, memory: int | None, context: str
) -> None:
    monkeypatch.setattr(devices, "usable_card_memory", lambda **_: memory)
    metadata = dataclasses.replace(read_metadata(dense_model), context_length=65536)
    monkeypatch.setattr(doctor, "read_metadata", lambda path: metadata)
    config.store("model", str(dense_model))
    [finding] = doctor.check_model()
    assert finding.message.endswith(f"with {context} tokens of context")


def test_a_damaged_model_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"no model")
    config.store("model", str(tmp_path / "broken.gguf"))
    [finding] = doctor.examine({"model": doctor.check_model})
    assert finding.state == "problem"


def test_a_bad_setting_is_a_problem() -> None:
    paths.make_dir(paths.config_file().parent)
    paths.config_file().write_text("threads = 'many'\n")
    [finding] = doctor.examine({"settings": doctor.check_settings})
    assert finding.state == "problem"


def test_settings_that_were_changed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPYDRAFT_THREADS", "4")
    assert list(doctor.check_settings()) == [
        Finding("settings", "ok", "set: threads (environment)")
    ]


def test_no_daemon_is_no_problem() -> None:
    assert list(doctor.check_daemon()) == [
        Finding("daemon", "ok", "not running; the first request starts it")
    ]


def test_a_daemon_with_other_card_variables_is_a_warning() -> None:
    ours = {"HSA_OVERRIDE_GFX_VERSION": "11.0.0", "PATH": "/bin"}
    [finding] = doctor.judge_environment(ours, {"PATH": "/usr/bin"})
    assert finding.message == (
        "it was started with another HSA_OVERRIDE_GFX_VERSION than this shell has"
    )
    assert list(doctor.judge_environment(ours, ours)) == []


def test_a_socket_path_that_is_too_long_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("long" * 25)))
    [finding] = doctor.examine({"socket": doctor.check_socket})
    assert finding.state == "problem"
    assert finding.message.startswith("the socket's path is too long for the system: ")


def test_a_socket_that_others_can_use_is_a_problem() -> None:
    paths.socket_path().touch(mode=0o600)
    assert [finding.state for finding in doctor.check_socket()] == ["ok"]
    paths.socket_path().chmod(0o666)
    [finding] = doctor.check_socket()
    assert finding.message == f"{paths.socket_path()} has mode 666"


def test_a_full_disk_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: _Usage())
    finding = doctor.judge_directory("models", tmp_path / "not" / "yet")
    assert finding.state == "warning"
    assert finding.message == f"{tmp_path}/not/yet has only 5 MB free"


class _Usage:
    free = 5_000_000


def test_a_directory_that_cannot_be_written_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    finding = doctor.judge_directory("models", tmp_path / "not" / "yet")
    assert finding.message == f"you may not write into {tmp_path}"
