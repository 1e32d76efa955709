"""The cost table: measured widths, a line between them, and what is kept of it."""

from __future__ import annotations

import pytest

from copydraft.engine.cost import Calibration

MEASURED = Calibration({1: 10.0, 2: 16.0, 4: 20.0, 8: 40.0}, tie_threshold=0.5)


@pytest.mark.parametrize(
    ("width", "ratio"), [(1, 1.0), (2, 1.6), (3, 1.8), (4, 2.0), (6, 3.0), (8, 4.0)]
)
def test_costs_between_measured_widths_lie_on_a_line(width: int, ratio: float) -> None:
    assert MEASURED.ratio(width) == pytest.approx(ratio)


def test_wider_passes_than_measured_cost_in_proportion() -> None:
    assert MEASURED.ratio(16) == pytest.approx(8.0)


def test_a_table_starts_with_the_single_token() -> None:
    assert MEASURED.table(4) == pytest.approx([1.0, 1.6, 1.8, 2.0])


def test_a_saved_table_comes_back_as_it_was() -> None:
    assert Calibration.of_table(MEASURED.to_table()) == MEASURED
