"""The cost table: measured widths, a line between them, and what is kept of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from copydraft.engine.cost import Calibration, Costs, calibrate

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


class FakeMachine:
    """Decodes at a scripted pace, and its logits stray in wide passes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: dict[int, float]) -> None:
        self._now = 0.0
        self._seconds = seconds
        self._width = 0
        self.rewound = 0
        self._passes = 0
        self.busy_from = math.inf
        """From this pass on, others have the machine half of the time: passes wait for them."""
        monkeypatch.setattr("copydraft.engine.cost.time.perf_counter", lambda: self._now)

    def decode(self, tokens: Sequence[int]) -> None:
        self._width = len(tokens)
        self._passes += 1
        waits = self._passes >= self.busy_from and (self._width > 1 or self._passes % 4)
        self._now += self._seconds[self._width] + (0.5 if waits else 0.0)

    def top_logits(
        self, row: int, ids: Sequence[int] | None
    ) -> tuple[Sequence[int], Sequence[float]]:
        stray = 0.0 if self._width == 1 else 0.25
        return [3, 5], [10.0 + stray, 9.0 - stray]

    def rewind(self) -> None:
        self.rewound += 1

    def calibrate(self, widest: int) -> Calibration:
        return calibrate(range(64), self.decode, self.top_logits, self.rewind, widest)


def test_every_width_up_to_the_widest_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = FakeMachine(monkeypatch, {1: 0.01, 2: 0.015, 4: 0.02, 8: 0.03, 6: 0.025, 3: 0.0175})
    measured = machine.calibrate(widest=8)
    assert measured.ms == pytest.approx({1: 10, 2: 15, 3: 17.5, 4: 20, 6: 25, 8: 30})
    assert measured.steady


@pytest.mark.parametrize("busy_from", [1, 9], ids=["from the start", "from the first wide pass on"])
def test_a_busy_machine_is_presumed_to_pass_over_many_tokens_cheaply(
    monkeypatch: pytest.MonkeyPatch, busy_from: int
) -> None:
    machine = FakeMachine(monkeypatch, {1: 0.01, 2: 0.015, 3: 0.0175, 4: 0.02, 6: 0.025, 8: 0.03})
    machine.busy_from = busy_from
    measured = machine.calibrate(widest=8)
    assert not measured.steady
    assert measured.ratio(2) < 1.25
    assert measured.ratio(4) < 1.75
    assert measured.ratio(8) < 2.75


def test_widths_that_a_busy_machine_left_no_time_for_are_presumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = FakeMachine(monkeypatch, {1: 0.01, 2: 4.0, 3: 5.0, 4: 6.0, 8: 7.0, 16: 8.0})
    machine.busy_from = 1
    measured = machine.calibrate(widest=64)
    assert measured.table(64)[-1] == pytest.approx(1 + 0.25 * 63)


def test_a_slow_machine_is_measured_coarsely(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = FakeMachine(monkeypatch, {1: 1.0, 2: 2.0, 3: 2.5, 4: 3.0})
    assert set(machine.calibrate(widest=64).ms) == {1, 2, 3, 4}


def test_the_tie_threshold_covers_what_two_logits_stray_with_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = FakeMachine(monkeypatch, {1: 0.01, 2: 0.02})
    assert machine.calibrate(widest=2).tie_threshold == pytest.approx(0.75)


EVEN = Calibration({1: 10.0, 64: 640.0}, tie_threshold=0.0)


def test_costs_begin_as_calibrated() -> None:
    assert Costs(EVEN).table(4) == [1.0, 2.0, 3.0, 4.0]


def test_passes_of_requests_correct_the_costs_of_their_magnitude() -> None:
    costs = Costs(EVEN)
    # Four tokens cost eight single passes behind this context, measured a thousand times.
    costs.learn([(1, 100, 2000.0), (4, 1000, 160_000.0)])
    assert costs.table(5) == pytest.approx([1.0, 2.0, 6.0, 8.0, 5.0], rel=0.05)


def test_a_table_that_was_given_out_is_kept_up_to_date() -> None:
    costs = Costs(EVEN)
    table = costs.table(2)
    costs.learn([(1, 10, 100.0), (2, 1000, 30_000.0)])
    assert table[1] == pytest.approx(3.0, rel=0.05)
    assert costs.table(2) is table


def test_a_few_passes_change_little_and_no_pass_counts_threefold() -> None:
    costs = Costs(EVEN)
    costs.learn([(2, 1, 1e9)])
    assert 2.0 < costs.table(2)[1] < 2.3


def test_a_wide_pass_never_costs_less_than_one_token() -> None:
    costs = Costs(Calibration({1: 10.0, 64: 11.0}, tie_threshold=0.0))
    costs.learn([(1, 10, 100.0), (2, 1000, 1000.0)])
    assert costs.table(2) == [1.0, 1.0]
