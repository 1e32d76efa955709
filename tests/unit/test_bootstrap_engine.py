"""Which build of llama.cpp a machine gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootstrap.cpu import Cpu
from bootstrap.engine import Engine, Hip, choose, find_hip
from bootstrap.errors import SetupError
from bootstrap.radeon import Card

CPU = Cpu(("vendor_id=AuthenticAMD",), frozenset({"avx2"}))
CARD = Card("gfx1201", hip_index=0)
HIP = Hip(Path("/opt/rocm/bin/hipconfig"), (6, 4))
LEAN = {
    "LLAVA_BUILD": "OFF",
    "LLAMA_BUILD_TOOLS": "OFF",
    "LLAMA_BUILD_EXAMPLES": "OFF",
    "LLAMA_BUILD_TESTS": "OFF",
    "LLAMA_BUILD_SERVER": "OFF",
}


def test_without_a_card_the_cpu_is_used() -> None:
    engine = choose("auto", CPU, [], None)
    assert engine.backend == "cpu"
    assert engine.options == {**LEAN, "GGML_NATIVE": "ON"}
    assert engine.warning == ""


def test_a_card_and_its_compiler_make_a_build_for_the_card() -> None:
    engine = choose("auto", CPU, [CARD], HIP)
    assert engine.backend == "hip"
    assert engine.options == {
        **LEAN,
        "GGML_NATIVE": "ON",
        "GGML_HIP": "ON",
        "GPU_TARGETS": "gfx1201",
    }


def test_two_kinds_of_cards_are_both_built_for() -> None:
    engine = choose("auto", CPU, [CARD, Card("gfx1100", 1), Card("gfx1201", 2)], HIP)
    assert engine.options["GPU_TARGETS"] == "gfx1100;gfx1201"


@pytest.mark.parametrize(
    ("hip", "reason"),
    [
        (None, "ROCm's compiler is not installed"),
        (Hip(Path("/usr/bin/hipconfig"), (5, 7)), "HIP 5.7, and 6.1 is needed"),
    ],
)
def test_a_card_without_a_fit_compiler_is_not_dropped_silently(
    hip: Hip | None, reason: str
) -> None:
    engine = choose("auto", CPU, [CARD], hip)
    assert engine.backend == "cpu"
    assert engine.warning.startswith("gfx1201 is not used, the CPU is")
    assert reason in engine.warning
    assert "Install ROCm" in engine.warning


def test_the_user_may_ask_for_the_cpu_beside_a_card() -> None:
    engine = choose("cpu", CPU, [CARD], HIP)
    assert (engine.backend, engine.hip, engine.warning) == ("cpu", None, "")


def test_the_user_may_ask_for_vulkan() -> None:
    assert choose("vulkan", CPU, [CARD], HIP).options["GGML_VULKAN"] == "ON"


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(SetupError, match="COPYDRAFT_BACKEND=cuda is not known") as refused:
        choose("cuda", CPU, [], None)
    assert refused.value.hint == "Set it to one of auto, cpu, hip, vulkan."


@pytest.mark.parametrize(
    ("cards", "hip", "reason"),
    [([], HIP, "no Radeon"), ([CARD], None, "ROCm's compiler is not installed")],
)
def test_hip_that_cannot_be_built_is_an_error_when_asked_for(
    cards: list[Card], hip: Hip | None, reason: str
) -> None:
    with pytest.raises(SetupError, match=f"COPYDRAFT_BACKEND=hip cannot be built: {reason}"):
        choose("hip", CPU, cards, hip)


@pytest.mark.parametrize(
    ("gfx", "override", "target"),
    [
        ("gfx1031", "10.3.0", "gfx1030"),
        ("gfx1102", "11.0.0", "gfx1100"),
        ("gfx902", "9.0.10", "gfx90a"),
        ("gfx1201", "11.0.0", "gfx1201"),
    ],
)
def test_a_card_taken_for_another_is_built_for_as_that_one(
    gfx: str, override: str, target: str
) -> None:
    engine = choose("hip", CPU, [Card(gfx, 0)], HIP, override)
    assert engine.options["GPU_TARGETS"] == target


def test_an_override_that_is_no_version_is_refused() -> None:
    with pytest.raises(SetupError, match="HSA_OVERRIDE_GFX_VERSION=gfx1030 is no version"):
        choose("hip", CPU, [Card("gfx1031", 0)], HIP, "gfx1030")


def test_the_name_in_the_cache_tells_builds_apart() -> None:
    engines: list[Engine] = [
        choose("cpu", CPU, [], None),
        choose("cpu", Cpu(CPU.model, frozenset({"avx2", "avx512f"})), [], None),
        choose("vulkan", CPU, [], None),
        choose("hip", CPU, [CARD], HIP),
        choose("hip", CPU, [Card("gfx1100", 0)], HIP),
        choose("hip", CPU, [CARD], Hip(HIP.hipconfig, (7, 0))),
        choose("hip", CPU, [Card("gfx1031", 0)], HIP),
        choose("hip", CPU, [Card("gfx1031", 0)], HIP, "10.3.0"),
    ]
    assert len({engine.key for engine in engines}) == 8
    assert engines[0].key.startswith("0.3.36-cpu-")


def _rocm(root: Path, header: str) -> Path:
    (root / "bin").mkdir(parents=True)
    (root / "include/hip").mkdir(parents=True)
    (root / "bin/hipconfig").write_text("")
    (root / "bin/hipconfig").chmod(0o755)
    (root / "include/hip/hip_version.h").write_text(header)
    return root / "bin"


def test_the_version_of_hip_is_read_from_its_header(tmp_path: Path) -> None:
    path = _rocm(tmp_path, "#define HIP_VERSION_MAJOR 6\n#define HIP_VERSION_MINOR 4\n")
    assert find_hip(str(path)) == Hip(path / "hipconfig", (6, 4))


def test_a_link_to_hipconfig_leads_to_the_headers(tmp_path: Path) -> None:
    path = _rocm(tmp_path / "rocm", "#define HIP_VERSION_MAJOR 7\n#define HIP_VERSION_MINOR 0\n")
    (tmp_path / "hipconfig").symlink_to(path / "hipconfig")
    assert find_hip(str(tmp_path)) == Hip(tmp_path / "hipconfig", (7, 0))


def test_hip_without_its_headers_cannot_compile(tmp_path: Path) -> None:
    path = _rocm(tmp_path, "")
    assert find_hip(str(path)) is None
