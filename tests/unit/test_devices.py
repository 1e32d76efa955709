"""What the machine has, read from trees like the kernel's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from copydraft import devices
from copydraft.devices import Card

SYSFS = Path(__file__).parents[1] / "fixtures" / "sysfs"

MEMINFO = "MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:    8000 kB\n"
KB = 1024


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# --- cards ----------------------------------------------------------------------------------


def test_a_card_has_its_target_address_and_memory(tmp_path: Path) -> None:
    ids = tmp_path / "amdgpu.ids"
    ids.write_text("# list\n1.0.0\n744C,\tC8,\tAMD Radeon RX 7900 XTX\n744C,\tCC,\tanother\n")
    assert devices.find_cards(SYSFS / "rx7900xtx", ids) == [
        Card(
            name="AMD Radeon RX 7900 XTX",
            gfx="gfx1100",
            pci="0000:03:00.0",
            vram_total=25753026560,
            vram_used=1048576000,
            integrated=False,
            hip_index=0,
        )
    ]


def test_a_gpu_that_shares_the_machines_memory_is_integrated(tmp_path: Path) -> None:
    cards = devices.find_cards(SYSFS / "rx9070xt_igpu", tmp_path / "missing")
    assert [(card.name, card.gfx, card.integrated) for card in cards] == [
        ("AMD GPU 7550", "gfx1201", False),
        ("AMD GPU 164E", "gfx1036", True),
    ]


def test_the_integrated_gpu_does_not_count_as_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        devices, "find_cards", lambda found=devices.find_cards: found(SYSFS / "rx9070xt_igpu")
    )
    assert devices.card_memory() == 17095983104
    assert devices.card_free_memory() == 17095983104 - 2108162048


def test_without_a_card_there_is_no_card_memory(
    monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    monkeypatch.setattr(devices, "find_cards", lambda found=devices.find_cards: found(root))
    assert devices.card_memory() is None
    assert devices.card_free_memory() is None


def test_cards_of_other_makers_are_left_out(root: Path) -> None:
    write(root / "class/drm/card0/device/vendor", "0x10de\n")
    assert devices.find_cards(root) == []


def test_a_card_without_the_compute_driver_has_no_target(root: Path) -> None:
    write(root / "class/drm/card0/device/vendor", "0x1002\n")
    write(root / "class/drm/card0/device/mem_info_vram_total", "1000\n")
    (card,) = devices.find_cards(root)
    assert (card.gfx, card.vram_total, card.hip_index) == ("", 1000, None)


def test_a_card_without_the_compute_driver_is_not_to_be_used(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root / "class/drm/card0/device/vendor", "0x1002\n")
    write(root / "class/drm/card0/device/mem_info_vram_total", "1000\n")
    monkeypatch.setattr(devices, "find_cards", lambda found=devices.find_cards: found(root))
    assert devices.card_memory() is None
    assert devices.card_free_memory() is None


def test_a_card_whose_driver_tells_no_memory_is_not_to_be_used(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(SYSFS / "rx7900xtx", root)
    for file in root.glob("class/drm/card*/device/mem_info_vram_total"):
        file.unlink()  # as under the old radeon driver
    for file in root.glob("class/kfd/kfd/topology/nodes/*/mem_banks/0/properties"):
        file.unlink()
    monkeypatch.setattr(devices, "find_cards", lambda found=devices.find_cards: found(root))
    assert len(devices.find_cards()) == 1
    assert devices.card_memory() is None


@pytest.mark.parametrize(
    ("library", "memory"),
    [
        ("libggml-hip.so", 25753026560),
        ("libggml-vulkan.so.0", 25753026560),
        ("libggml-cuda.so", 25753026560),
        ("libggml-cpu.so", None),
    ],
)
def test_a_cards_memory_counts_only_if_llama_cpp_was_built_for_cards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, memory: int | None
) -> None:
    write(tmp_path / "llama_cpp/__init__.py", "raise AssertionError('it must not be imported')")
    write(tmp_path / "llama_cpp/lib" / library, "")
    monkeypatch.delitem(sys.modules, "llama_cpp", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        devices, "find_cards", lambda found=devices.find_cards: found(SYSFS / "rx7900xtx")
    )
    assert devices.usable_card_memory() == memory
    assert devices.usable_card_memory(gpu_layers=0) is None


# --- memory and cores -----------------------------------------------------------------------


def test_resident_memory_of_a_process_is_read() -> None:
    assert devices.resident_bytes(os.getpid()) > 1_000_000


def test_a_process_that_ended_has_no_resident_memory() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert devices.resident_bytes(process.pid) == 0


def test_memory_is_the_machines_where_no_group_limits_it(root: Path) -> None:
    write(root / "proc/meminfo", MEMINFO)
    write(root / "proc/self/cgroup", "0::/user/session\n")
    write(root / "sys/fs/cgroup/user/memory.max", "max\n")
    assert devices.total_memory(root=root) == 16000 * KB
    assert devices.available_memory(root=root) == 8000 * KB


def test_the_limit_of_an_outer_control_group_counts(root: Path) -> None:
    write(root / "proc/meminfo", MEMINFO)
    write(root / "proc/self/cgroup", "0::/user/session\n")
    write(root / "sys/fs/cgroup/user/session/memory.max", "max\n")
    write(root / "sys/fs/cgroup/user/session/memory.current", "1\n")
    write(root / "sys/fs/cgroup/user/memory.max", f"{6000 * KB}\n")
    write(root / "sys/fs/cgroup/user/memory.current", f"{5000 * KB}\n")
    assert devices.total_memory(root=root) == 6000 * KB
    assert devices.available_memory(root=root) == 1000 * KB


def test_cached_files_of_a_control_group_count_as_available(root: Path) -> None:
    write(root / "proc/meminfo", MEMINFO)
    write(root / "proc/self/cgroup", "0::/\n")
    write(root / "sys/fs/cgroup/memory.max", f"{6000 * KB}\n")
    write(root / "sys/fs/cgroup/memory.current", f"{5000 * KB}\n")
    write(root / "sys/fs/cgroup/memory.stat", f"anon 1\ninactive_file {3000 * KB}\n")
    assert devices.available_memory(root=root) == 4000 * KB


def test_limits_of_version_1_control_groups_count(root: Path) -> None:
    write(root / "proc/meminfo", MEMINFO)
    write(root / "proc/self/cgroup", "4:memory:/box\n0::/\n")
    write(root / "sys/fs/cgroup/memory/box/memory.limit_in_bytes", f"{2000 * KB}\n")
    write(root / "sys/fs/cgroup/memory/box/memory.usage_in_bytes", f"{500 * KB}\n")
    assert devices.total_memory(root=root) == 2000 * KB
    assert devices.available_memory(root=root) == 1500 * KB


def test_second_threads_of_a_core_are_not_counted(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    for cpu, core in enumerate((0, 0, 1, 1)):
        write(root / f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", "0\n")
        write(root / f"sys/devices/system/cpu/cpu{cpu}/topology/core_id", f"{core}\n")
    assert devices.physical_cores(root=root) == 2


def test_cores_of_two_packages_are_told_apart(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    for cpu in (0, 1):
        write(root / f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", f"{cpu}\n")
        write(root / f"sys/devices/system/cpu/cpu{cpu}/topology/core_id", "0\n")
    assert devices.physical_cores(root=root) == 2


def test_cores_outside_the_processs_affinity_are_not_counted(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1})
    for cpu in (0, 1):
        write(root / f"sys/devices/system/cpu/cpu{cpu}/topology/core_id", f"{cpu}\n")
    assert devices.physical_cores(root=root) == 1


def test_a_quota_of_processor_time_limits_the_cores(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    write(root / "proc/self/cgroup", "0::/box\n")
    write(root / "sys/fs/cgroup/box/cpu.max", "250000 100000\n")
    assert devices.physical_cores(root=root) == 3
