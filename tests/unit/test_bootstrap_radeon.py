"""Radeon cards as ROCm's kernel driver shows them, on composed sysfs trees."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bootstrap.radeon import Card, discrete_cards

TREES = Path(__file__).parents[1] / "fixtures" / "sysfs"


def test_a_card_is_found_with_its_compiler_target() -> None:
    assert discrete_cards(TREES / "rx7900xtx") == [Card("gfx1100", hip_index=0)]


def test_an_integrated_gpu_is_left_out() -> None:
    assert discrete_cards(TREES / "rx9070xt_igpu") == [Card("gfx1201", hip_index=0)]


def test_an_integrated_gpu_that_comes_first_still_counts_for_hip(tmp_path: Path) -> None:
    shutil.copytree(TREES / "rx9070xt_igpu", tmp_path, dirs_exist_ok=True)
    nodes = tmp_path / "class/kfd/kfd/topology/nodes"
    (nodes / "1").rename(nodes / "10")  # 10 comes after 2
    assert discrete_cards(tmp_path) == [Card("gfx1201", hip_index=1)]


@pytest.mark.parametrize(("version", "gfx"), [(90010, "gfx90a"), (100306, "gfx1036")])
def test_the_target_is_spelled_in_hex(tmp_path: Path, version: int, gfx: str) -> None:
    shutil.copytree(TREES / "rx7900xtx", tmp_path, dirs_exist_ok=True)
    properties = tmp_path / "class/kfd/kfd/topology/nodes/1/properties"
    properties.write_text(properties.read_text().replace("110000", str(version)))
    assert discrete_cards(tmp_path) == [Card(gfx, hip_index=0)]


def test_a_card_that_a_container_hides_is_not_there(tmp_path: Path) -> None:
    shutil.copytree(TREES / "rx7900xtx", tmp_path, dirs_exist_ok=True)
    (tmp_path / "class/kfd/kfd/topology/nodes/1/properties").unlink()
    assert discrete_cards(tmp_path) == []


def test_nothing_has_to_be_installed_to_find_cards() -> None:
    scripts = Path(__file__).parents[2] / "scripts"
    found = subprocess.run(
        [sys.executable, "-S", "-c", "from bootstrap.radeon import discrete_cards"],
        cwd=scripts,
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stderr == ""


def test_without_the_driver_there_is_no_card(tmp_path: Path) -> None:
    assert discrete_cards(tmp_path) == []
