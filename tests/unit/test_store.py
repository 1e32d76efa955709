"""The state database: what is kept, and what happens to it when the disk or the file is bad."""

from __future__ import annotations

import datetime
import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from sqlite_utils import Database

from copydraft.errors import DiskProblem
from copydraft.index import migrations, usage
from copydraft.index.store import StateStore
from copydraft.protocol import RequestStats, Usage, WidthTime
from tests.fixtures.fake_service import stats


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "state.db"


@pytest.fixture
def store(path: Path) -> Iterator[StateStore]:
    opened = StateStore(path)
    yield opened
    opened.close()


def keep(path: Path, *requests: RequestStats) -> None:
    """A database that holds `requests`, closed."""
    store = StateStore(path)
    for request in requests:
        store.record(request)
    store.close()


def rows(path: Path) -> list[dict[str, object]]:
    database = Database(path)
    found = list(database.table("requests").rows)
    database.close()
    return found


# --- statistics ---


def test_every_field_of_the_statistics_is_kept(store: StateStore, path: Path) -> None:
    given = stats(
        verify=[WidthTime(width=8, passes=3, ms=31.5)], smallest_margin=None, agent="helper"
    )
    store.record(given)
    store.report(None)
    [row] = rows(path)
    assert row["verify"] == '[{"width":8,"passes":3,"ms":31.5}]'
    assert row["drafted"] == '{"region":18}'
    assert row["smallest_margin"] is None
    plain = {"draft", "strict", "drafted", "accepted", "verify"}
    for name, value in msgspec.structs.asdict(given).items():
        if name not in plain:
            assert row[name] == value


def test_sums_are_given_in_all_by_kind_by_model_and_by_day(store: StateStore) -> None:
    today = datetime.datetime.now().date().isoformat()
    store.record(stats(kind="edit", model="small"))
    store.record(
        stats(kind="edit", model="large", decode_ms=800.0, tokens_per_s=100.0, output_tokens=80)
    )
    store.record(
        stats(kind="explain", model="small", drafted={"region": 2, "session": 4}, accepted={})
    )
    report = store.report(None)
    assert report.total == Usage(
        name="",
        requests=3,
        prompt_tokens=300,
        reused_tokens=120,
        output_tokens=120,
        copied_tokens=45,
        copied_share=0.375,
        passes=15,
        drafted={"region": 38, "session": 4},
        accepted={"region": 30},
        decode_ms=1600.0,
        tokens_per_s=75.0,
    )
    assert [(u.name, u.requests) for u in report.by_kind] == [("edit", 2), ("explain", 1)]
    assert [(u.name, u.output_tokens) for u in report.by_model] == [("small", 40), ("large", 80)]
    assert [(u.name, u.requests) for u in report.by_day] == [(today, 3)]


def test_a_report_over_days_counts_today_as_the_first() -> None:
    database = Database(memory=True)
    migrations.STATE.apply(database)
    noon = datetime.datetime.combine(datetime.datetime.now().date(), datetime.time(12))
    for days_ago in (0, 1, 1, 6, 30):
        usage.insert(database, stats(), (noon - datetime.timedelta(days=days_ago)).timestamp())
    assert usage.report(database, 1).total.requests == 1
    assert usage.report(database, 2).total.requests == 3
    assert usage.report(database, 7).total.requests == 4
    assert [day.requests for day in usage.report(database, None).by_day] == [1, 1, 2, 1]
    database.close()


def test_a_report_on_one_kind_leaves_the_others_out(store: StateStore) -> None:
    store.record(stats(kind="edit"))
    store.record(stats(kind="explain", drafted={"session": 4}, accepted={"session": 1}))
    report = store.report(None, "explain")
    assert (report.total.requests, report.total.drafted) == (1, {"session": 4})
    assert [usage.name for usage in report.by_kind] == ["explain"]
    assert report.by_day[0].accepted == {"session": 1}


def test_a_report_on_nothing_is_all_zeros(store: StateStore) -> None:
    report = store.report(7)
    assert (report.days, report.total.requests, report.total.tokens_per_s) == (7, 0, 0.0)
    assert report.by_kind == report.by_model == report.by_day == []


def test_statistics_outlive_the_daemon(path: Path, store: StateStore) -> None:
    keep(path, stats(), stats())
    assert store.report(None).total.requests == 2


def test_clearing_erases_statistics_and_keeps_cost_tables(store: StateStore) -> None:
    store.record(stats())
    store.save_cost("cpu", {1: 10.0})
    store.clear()
    assert store.report(None).total.requests == 0
    assert store.load_cost("cpu") == {1: 10.0}


def test_recording_does_not_wait_for_another_writer(store: StateStore, path: Path) -> None:
    store.report(None)
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    store.record(stats())  # waiting here would be in vain, and lose the record
    assert rows(path) == []
    other.rollback()
    other.close()
    assert store.report(None).total.requests == 1


# --- cost tables ---


def test_a_cost_table_is_kept_by_its_key_and_replaced_whole(store: StateStore) -> None:
    store.save_cost("cpu", {1: 10.0, 8: 25.5})
    store.save_cost("card", {1: 1.0})
    store.save_cost("cpu", {1: 11.0, 4: 14.0})
    assert store.load_cost("cpu") == {1: 11.0, 4: 14.0}
    assert store.load_cost("card") == {1: 1.0}
    assert store.load_cost("unknown") is None


# --- a bad file, a bad disk ---


def test_a_file_that_is_no_database_is_moved_aside(
    path: Path, store: StateStore, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database at all" * 100)
    store.record(stats())
    assert store.report(None).total.requests == 1
    [kept] = path.parent.glob("state.db.damaged-*")
    assert kept.read_bytes() == b"not a database at all" * 100
    assert kept.name in caplog.text


def test_damage_inside_the_database_is_found_at_the_start(path: Path, store: StateStore) -> None:
    keep(path, *[stats(agent="a" * 1000) for _ in range(20)])
    content = bytearray(path.read_bytes())
    content[3 * 4096 : 4 * 4096] = b"\xff" * 4096
    path.write_bytes(content)
    store.record(stats())
    assert store.report(None).total.requests == 1
    [kept] = path.parent.glob("state.db.damaged-*")
    assert kept.read_bytes() == content


def test_a_database_of_a_newer_version_is_left_alone(
    path: Path, store: StateStore, caplog: pytest.LogCaptureFixture
) -> None:
    keep(path, stats())
    database = Database(path)
    database.table("_sqlite_migrations").insert(
        {"migration_set": "copydraft.state", "name": "m999_from_the_future", "applied_at": "x"}
    )
    database.close()
    store.record(stats())
    store.record(stats())
    with pytest.raises(DiskProblem, match="written by a newer copydraft") as caught:
        store.report(None)
    assert caught.value.hint == "update copydraft, or move the file away to begin anew"
    assert len(rows(path)) == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_directory_that_cannot_be_made_costs_only_the_statistics(
    path: Path, store: StateStore, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.write_text("in the way")
    store.record(stats())
    store.save_cost("cpu", {1: 1.0})
    assert store.load_cost("cpu") is None
    with pytest.raises(DiskProblem, match="cannot make"):
        store.report(None)
    path.parent.unlink()
    store.record(stats())
    assert store.report(None).total.requests == 1


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No file may grow beyond 64 kB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_costs_only_the_statistics_that_do_not_fit(
    store: StateStore, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(20):
        store.record(stats(agent="a" * 10_000))
    assert 0 < store.report(None).total.requests < 20
    assert "no statistics" in caplog.text
