"""Recent edits are what a person changed, with the text before and after."""

from __future__ import annotations

import pytest

from copydraft.workspace import edits
from copydraft.workspace.edits import RecentEdit, RecentEdits


@pytest.fixture
def recent() -> RecentEdits:
    return RecentEdits()


def test_what_differs_from_the_text_seen_before_is_an_edit(recent: RecentEdits) -> None:
    recent.seen("a.py", "one\ntwo\nthree\n", 10.0)
    assert recent.latest() == []
    recent.seen("a.py", "one\n2\nthree\nfour\n", 20.0)
    assert recent.latest() == [
        RecentEdit("a.py", 3, "", "four\n", 20.0),
        RecentEdit("a.py", 1, "two\n", "2\n", 20.0),
    ]


def test_an_edit_that_goes_on_with_the_last_one_is_one_with_it(recent: RecentEdits) -> None:
    for number, text in enumerate(("a\n", "ab\n", "abc\n")):
        recent.seen("a.py", text, float(number))
    assert recent.latest() == [RecentEdit("a.py", 0, "a\n", "abc\n", 2.0)]
    recent.seen("a.py", "a\n", 3.0)
    assert recent.latest() == []


def test_the_latest_come_first_whatever_the_clock_says(recent: RecentEdits) -> None:
    for number, time in enumerate((50.0, 40.0, 30.0)):
        recent.seen(f"{number}", "old\n", 0.0)
        recent.seen(f"{number}", "new\n", time)
    assert [edit.path for edit in recent.latest(2)] == ["2", "1"]


def test_what_was_seen_first_stays_what_later_texts_are_compared_with(
    recent: RecentEdits,
) -> None:
    recent.first_seen("a.py", "old\n")
    recent.first_seen("a.py", "older\n")
    assert recent.latest() == []
    recent.seen("a.py", "edited\n", 2.0)
    [edit] = recent.latest()
    assert edit.old == "old\n"


def test_a_file_rewritten_all_over_is_no_edit(recent: RecentEdits) -> None:
    recent.seen("a.py", "".join(f"line {n}\nsame {n}\n" for n in range(21)), 1.0)
    recent.seen("a.py", "".join(f"other {n}\nsame {n}\n" for n in range(21)), 2.0)
    recent.seen("b.py", "".join(f"{n}\n" for n in range(61)), 1.0)
    recent.seen("b.py", "", 2.0)
    assert recent.latest() == []


def test_a_file_that_was_gone_begins_anew(recent: RecentEdits) -> None:
    recent.seen("a.py", "old\n", 1.0)
    recent.forget("a.py")
    recent.forget("never seen")
    recent.seen("a.py", "new\n", 2.0)
    assert recent.latest() == []


def test_edits_and_texts_are_bounded(recent: RecentEdits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "_MOST_CHARACTERS", 100)
    for number in range(100):
        recent.seen("a.py", f"{number}" * 20 + "\n", 1.0)
        recent.seen(f"{number}", "x" * 90, 1.0)
    assert sum(map(len, recent._texts.values())) <= 100
    monkeypatch.undo()
    for number in range(100):
        recent.seen("b.py", f"{number}\n" * (number % 2), 1.0)
    assert len(recent.latest()) <= 64


def test_a_text_with_a_private_key_is_never_part_of_an_edit(recent: RecentEdits) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n"
    recent.first_seen("a.pem.txt", key)
    recent.seen("a.pem.txt", "the key is gone\n", 1.0)
    recent.seen("a.pem.txt", key, 2.0)
    recent.seen("a.pem.txt", "gone again\n", 3.0)
    assert recent.latest() == []
