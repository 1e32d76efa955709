"""Drawings of what was measured: the numbers behind them, and files that come out the same."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from copydraft.errors import DiskProblem
from copydraft.evaluation.bench_rows import Rows
from copydraft.evaluation.plots import acceptance, draw_bench, draw_replay, expected_tokens
from tests.fixtures.bench_rows import HEADING, row, rows, step


def measured() -> Rows:
    steps = [
        step(8, size % 9, run=size, corpus=("region", "session")[size % 2]) for size in range(60)
    ]
    return rows(
        *(row("plain", 4.0, repeat=r) for r in range(3)),
        *(row("copydraft", 1.0 + r / 4, repeat=r, steps=steps) for r in range(3)),
        row("oracle", 0.5),
    )


def words(path: Path) -> set[str]:
    return {text.strip() for node in ET.parse(path).iter() if (text := node.text or "").strip()}


def test_a_bench_is_drawn_with_its_arms_its_corpora_and_the_formula(tmp_path: Path) -> None:
    draw_bench(HEADING, measured(), tmp_path / "b.svg")
    shown = words(tmp_path / "b.svg")
    assert {"copydraft", "oracle", "region", "session", "edit: speedup over plain"} <= shown
    assert any(text.startswith("(1 - a^(k+1)) / (1 - a), a = 0.") for text in shown)
    assert {"3.20", "8.00"} <= shown


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        draw_bench(HEADING, measured(), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_rows_without_drafts_are_drawn(tmp_path: Path) -> None:
    draw_bench(HEADING, rows(row("plain", 4.0)), tmp_path / "b.svg")
    assert "edit: speedup over plain" in words(tmp_path / "b.svg")


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(DiskProblem, match="cannot write"):
        draw_bench(HEADING, measured(), tmp_path / "nowhere" / "b.svg")


def test_a_replay_is_drawn_with_a_field_for_each_curve(tmp_path: Path) -> None:
    curves = {"flat": {"speedup": 8.25}, "cpu": {"speedup": 2.5}}
    draw_replay({"drafters": {"copydraft": {"curves": curves}}}, tmp_path / "r.svg")
    assert {"replay, flat", "replay, cpu", "8.25", "2.50"} <= words(tmp_path / "r.svg")


def test_tokens_behind_the_first_wrong_one_are_not_judged() -> None:
    assert acceptance([step(8, 2)])["region"][:3] == [(1, 1), (1, 1), (0, 1)]


def test_tokens_are_counted_at_the_run_that_they_follow() -> None:
    shares = acceptance([step(2, 2, run=31), step(1, 0, run=40)])["region"]
    assert shares == [(0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (1, 1), (1, 2)]


@pytest.mark.parametrize(
    ("rate", "drafted", "tokens"), [(0.0, 8, 1.0), (0.5, 2, 1.75), (0.9, 16, 8.33), (1.0, 4, 5.0)]
)
def test_the_formula_is_leviathans(rate: float, drafted: int, tokens: float) -> None:
    assert expected_tokens(rate, drafted) == pytest.approx(tokens, abs=0.01)
