"""`copydraft complete`: a place in a file, and what is printed of the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from copydraft.ask import offset_of
from copydraft.errors import BadRequest
from copydraft.protocol import CompleteRequest, CompleteResult, Generation, Span
from tests.fixtures.fake_client import STATS, SUMMARY, FakeClient, run

TEXT = "ab\n\ncd\r\ne"
COMPLETION = CompleteResult(text="ute(y)", spans=[Span(start=0, end=6)], stats=STATS)


@pytest.mark.parametrize(
    ("place", "offset"),
    [("1:1", 0), ("1:3", 2), ("2:1", 3), ("3:2", 5), ("3:3", 6), ("4:1", 8), ("4:2", 9)],
)
def test_a_place_is_line_and_column_from_one(place: str, offset: int) -> None:
    assert offset_of(place, TEXT) == offset


def test_there_is_a_place_behind_the_last_line_end() -> None:
    assert offset_of("2:1", "a\n") == 2
    assert offset_of("1:1", "") == 0


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("5:1", "there is no line 5"),
        ("1:4", "line 1 has no column 4"),
        ("3:4", "line 3 has no column 4"),
        ("0:1", "this is no place: '0:1'"),
        ("3", "this is no place: '3'"),
    ],
)
def test_other_places_are_refused(place: str, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        offset_of(place, TEXT)


def test_complete_sends_the_file_and_the_place(client: type[FakeClient], file: Path) -> None:
    client.events = [COMPLETION]
    run("complete", file, "--at", "2:2")
    assert client.requests == [
        CompleteRequest(
            path=str(file),
            text="a\nb\nc\n",
            offset=3,
            generation=Generation(model="default-model"),
        )
    ]


def test_a_file_in_a_repository_is_named_as_its_index_names_it(
    client: type[FakeClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("a\n")
    monkeypatch.chdir(tmp_path / "src")
    client.events = [COMPLETION]
    run("complete", Path("a.py"), "--at", "1:1")
    assert client.requests[0].path == "src/a.py"
    assert client.requests[0].generation.workspace == str(tmp_path)


def test_complete_prints_the_text_and_nothing_else_on_stdout(
    client: type[FakeClient], file: Path
) -> None:
    client.events = [COMPLETION]
    result = run("complete", file, "--at", "1:1")
    assert (result.stdout, result.stderr, result.exit_code) == ("ute(y)\n", SUMMARY, 0)


def test_that_there_is_nothing_to_add_is_said(client: type[FakeClient], file: Path) -> None:
    client.events = [CompleteResult(text="", spans=[], stats=STATS)]
    result = run("complete", file, "--at", "1:1")
    assert result.stdout == ""
    assert result.stderr == f"the model has nothing to add there\n{SUMMARY}"


def test_complete_json_is_one_object(client: type[FakeClient], file: Path) -> None:
    client.events = [COMPLETION]
    shown = json.loads(run("complete", file, "--at", "1:1", "--json").stdout)
    assert shown.keys() == {"text", "stats", "spans"}
    assert shown["text"] == "ute(y)"


def test_a_place_that_is_not_there_is_refused_before_the_daemon_is_asked(
    client: type[FakeClient], file: Path
) -> None:
    result = run("complete", file, "--at", "9:1")
    assert result.stderr == "copydraft: there is no line 9\n  → the file has 3 lines\n"
    assert (client.requests, result.exit_code) == ([], 2)
