"""Rows of a bench are kept as they come, and are told from those of another bench."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from copydraft.errors import BadRequest, DiskProblem
from copydraft.evaluation.bench_rows import Place, Saved, missing
from tests.fixtures.bench_rows import HEADING, row, rows, step

ROW = row("copydraft", 1.5, drafted={"region": 3}, accepted={"region": 2}, steps=[step(3, 2)])
UNKNOWN = msgspec.structs.replace(HEADING, device="")


def saved(path: Path) -> Saved:
    kept = Saved(path, UNKNOWN)
    kept.begin("CPU")
    return kept


def test_what_was_kept_is_read_again(tmp_path: Path) -> None:
    saved(tmp_path / "b.jsonl").add(ROW)
    assert Saved(tmp_path / "b.jsonl", UNKNOWN).rows == rows(ROW)


def test_the_device_is_kept_in_the_heading(tmp_path: Path) -> None:
    saved(tmp_path / "b.jsonl")
    assert Saved(tmp_path / "b.jsonl", UNKNOWN).heading.device == "CPU"


def test_a_pass_is_an_array_in_the_file(tmp_path: Path) -> None:
    saved(tmp_path / "b.jsonl").add(ROW)
    assert '"steps":[[3,2,3,3000,20,"region",0]]' in (tmp_path / "b.jsonl").read_text()


def test_a_row_that_was_cut_off_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    saved(path).add(ROW)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"task":1,"kind":"ed')
    again = saved(path)
    assert again.rows == rows(ROW)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("change", "told"), [({"model": "big"}, "model 'tiny'"), ({"threads": 1}, "threads 2")]
)
def test_measurements_of_something_else_are_refused(
    tmp_path: Path, change: dict[str, str | int], told: str
) -> None:
    saved(tmp_path / "b.jsonl")
    with pytest.raises(BadRequest, match=told):
        Saved(tmp_path / "b.jsonl", msgspec.structs.replace(UNKNOWN, **change))


def test_a_file_of_something_else_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    path.write_text("my notes\n")
    with pytest.raises(BadRequest, match="holds no measurements"):
        Saved(path, UNKNOWN)
    assert path.read_text() == "my notes\n"


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(DiskProblem, match="cannot write"):
        saved(tmp_path / "nowhere" / "b.jsonl")


def test_only_what_is_not_kept_is_missing() -> None:
    here, other = Place(0, "edit", "copydraft", 0), Place(0, "edit", "oracle", 0)
    assert missing([here, other], rows(ROW)) == [other]
