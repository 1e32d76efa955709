"""Completions on a real engine: what is put in, what is read and drafted, who gives way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from copydraft.config import Config
from copydraft.protocol import DocumentOpened, DocumentUpdates, Generation
from tests.fixtures.serving import OPENING, Costs, Serving
from tests.fixtures.tiny_models import FILL_MIDDLE

TEXT = "def add(a, b):\n    \n\n\nprint(add(1, 2))\n"
PLACE = TEXT.index("    ") + 4
ANSWER = "    total = a + b\n    return total\n\n\nprint"


@pytest.fixture
def serving(answering_model: Callable[..., Path]) -> Iterator[Serving]:
    """A scheduler whose model completes every text with ANSWER."""
    model = answering_model(ANSWER, after=FILL_MIDDLE)
    one = Serving(model, Config(model=str(model), context=2048, threads=1))
    yield one
    one.scheduler.stop()


def test_a_completion_is_the_block_that_belongs_at_the_place(serving: Serving) -> None:
    result = serving.complete(TEXT, PLACE).completion()
    assert result.text == "total = a + b\n    return total"
    assert result.spans[-1].end == len(result.text)


def test_a_completion_in_a_file_with_other_line_ends_has_these(serving: Serving) -> None:
    text = TEXT.replace("\n", "\r\n")
    result = serving.complete(text, text.index("    ") + 4).completion()
    assert result.text == "total = a + b\r\n    return total"


def test_a_completion_is_counted_as_such(serving: Serving) -> None:
    stats = serving.complete(TEXT, PLACE).completion().stats
    assert (stats.kind, stats.stop_reason) == ("complete", "format")
    assert serving.recorded == [stats]


def test_drafting_changes_nothing_but_the_passes(serving: Serving) -> None:
    text = f"def sum(a, b):\n{ANSWER}\n{TEXT}"
    place = text.rindex("    \n") + 4
    plain = serving.complete(text, place, Generation(draft=False)).completion()
    drafted = serving.complete(text, place).completion()
    assert drafted.text == plain.text
    assert drafted.stats.passes < plain.stats.passes
    assert drafted.stats.accepted["session"] > 0


def test_a_strict_completion_of_what_is_begun_is_that_without_drafts(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Costs, "load_cost", lambda *_: {0: 1e9, 1: 1.0, 64: 1.5})
    typed = TEXT[:PLACE] + "total =" + TEXT[PLACE:]
    strict = Generation(workspace="/here", strict=True)
    plain = serving.complete(typed, PLACE + 7, msgspec.structs.replace(strict, draft=False))
    assert plain.completion().text == " a + b\n    return total"
    for _ in range(2):
        drafted = serving.complete(typed, PLACE + 7, strict).completion()
        assert drafted.text == plain.completion().text
        assert drafted.stats.redecoded > 0


def test_what_is_typed_already_does_not_count_as_written(serving: Serving) -> None:
    completion = serving.complete(TEXT, PLACE, Generation(max_tokens=1)).completion()
    assert completion.text == "total"


def test_what_was_completed_before_is_drafted_again(serving: Serving) -> None:
    here = Generation(workspace="/here")
    first = serving.complete(TEXT, PLACE, here).completion()
    second = serving.complete(TEXT, PLACE, here).completion()
    assert second.text == first.text
    assert second.stats.passes < first.stats.passes


@pytest.mark.parametrize(("name", "drafts"), [("other.py", True), ("a.py", False)])
def test_other_documents_of_the_workspace_are_drafted_from_but_not_its_own(
    serving: Serving, tmp_path: Path, name: str, drafts: bool
) -> None:
    serving.edit().wait()  # a model is loaded, whose tokens documents are kept in
    opened = DocumentOpened(name=name, version=1, text=f"def add(a, b):\n{ANSWER}\n")
    (tmp_path / "project").mkdir()
    root = str(tmp_path / "project")
    updates = DocumentUpdates(workspace=root, owner=os.getpid(), updates=[opened])
    serving.scheduler.documents(updates)
    serving.workspaces.search(root)
    assert serving.workspaces.settle(60)
    # Nothing of what the model will write is in the text itself, which is nearer.
    completion = serving.complete(TEXT[:PLACE], PLACE, Generation(workspace=root)).completion()
    assert ("workspace" in completion.stats.drafted) is drafts


def test_typing_on_in_a_line_reads_only_that_line(serving: Serving) -> None:
    serving.complete(TEXT, PLACE).completion()
    typed = TEXT[:PLACE] + "total = a" + TEXT[PLACE:]
    stats = serving.complete(typed, PLACE + 9).completion().stats
    assert stats.prompt_tokens - stats.reused_tokens <= len("    total =")


def test_a_model_without_the_tokens_says_what_to_do(
    serving: Serving, answering_model: Callable[..., Path]
) -> None:
    other = answering_model("x", after=OPENING)
    failure = serving.complete(TEXT, PLACE, Generation(model=str(other))).failure()
    assert failure.code == "model"
    assert "Qwen2.5-Coder" in failure.hint


@pytest.mark.parametrize(("after", "completes"), [(FILL_MIDDLE, True), (OPENING, False)])
def test_the_status_tells_whether_the_model_completes(
    serving: Serving, answering_model: Callable[..., Path], after: str, completes: bool
) -> None:
    serving.edit(Generation(model=str(answering_model("x", after=after)))).wait()
    model = serving.scheduler.snapshot().model
    assert model is not None
    assert model.completes is completes


def test_an_edit_ends_the_completion_that_runs(serving: Serving) -> None:
    held = serving.complete(TEXT, PLACE, hold=True)
    held.wait_for_text()
    edited = serving.edit()
    held.release.set()
    failure = held.failure()
    assert (failure.code, failure.message) == ("cancelled", "another request took its place")
    edited.wait()
    assert [stats.kind for stats in serving.recorded] == ["complete", "edit"]


def test_an_edit_runs_before_completions_that_wait(serving: Serving) -> None:
    held = serving.edit(hold=True)
    completion = serving.complete(TEXT, PLACE)
    edited = serving.edit()
    held.release.set()
    completion.completion()
    edited.wait()
    assert [stats.kind for stats in serving.recorded] == ["edit", "edit", "complete"]


def test_a_newer_completion_takes_the_place_of_one_that_waits(serving: Serving) -> None:
    held = serving.complete(TEXT, PLACE, hold=True)
    held.wait_for_text()
    old, new = serving.complete(TEXT, PLACE), serving.complete(TEXT, PLACE)
    assert old.failure().code == "cancelled"
    held.release.set()
    held.completion()
    assert new.completion().text


def test_the_completion_after_one_that_gave_way_is_right(serving: Serving) -> None:
    held = serving.complete(TEXT, PLACE, hold=True)
    held.wait_for_text()
    serving.edit()
    held.release.set()
    held.failure()
    assert serving.complete(TEXT, PLACE).completion().text == "total = a + b\n    return total"
