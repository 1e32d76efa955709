"""A sample of scripts/kill-indexing: the index is whole whenever it was killed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import kill_indexing

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(600)  # the child only runs while no one else wants the processor
def test_an_index_survives_ten_kills_while_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT), str(ROOT / "scripts"))))
    counts = kill_indexing.kill_rounds(10, seed=7)
    assert (counts["kills"], counts["rescans"]) == (10, 2)
    assert counts["before_the_end"] > 0
