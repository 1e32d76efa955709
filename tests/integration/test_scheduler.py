"""The scheduler runs requests in turn on a real engine: edits, cancelling, switching, unloading."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from copydraft.config import Config
from copydraft.drafting.drafter import CopyDrafter
from copydraft.drafting.policy import Policy
from copydraft.engine.engine import Engine
from copydraft.protocol import (
    Delta,
    DocumentOpened,
    DocumentUpdates,
    EditRequest,
    ExplainRequest,
    Failed,
    Generation,
    Loading,
    Notice,
    Prefill,
    Queued,
    Region,
    Sampling,
)
from copydraft.serving import loading, scheduler
from copydraft.serving.sequence import ActiveSequence
from copydraft.serving.service import ServingStatus
from copydraft.serving.workspaces import Workspaces
from copydraft.tokens import Document
from tests.fixtures.serving import ANSWER, OPENING, Serving


@pytest.fixture
def serving(answering_model: Callable[..., Path]) -> Iterator[Serving]:
    """A scheduler whose model answers every edit with ANSWER."""
    model = answering_model(ANSWER, after=OPENING)
    one = Serving(model, Config(model=str(model), context=2048, threads=1))
    yield one
    one.scheduler.stop()


def test_an_edit_comes_back_as_text_diff_and_spans(serving: Serving) -> None:
    result = serving.edit().edit()
    assert result.text == "a = 1\nb = 2\nprint(a + b)\n"
    assert "-b = 1\n+b = 2\n" in result.diff
    assert result.spans[0].start == 0
    assert result.spans[-1].end == len(result.text)


def test_copied_text_is_accepted_in_fewer_passes_and_counted_by_corpus(serving: Serving) -> None:
    stats = serving.edit().edit().stats
    assert stats.passes < stats.output_tokens / 2
    assert sum(stats.accepted.values()) > 5
    assert stats.accepted.keys() == {"region", "session"}
    assert stats.copied_tokens == sum(stats.accepted.values())
    assert serving.recorded == [stats]


def test_without_drafting_the_text_is_the_same_and_nothing_is_drafted(serving: Serving) -> None:
    drafted, plain = serving.edit().edit(), serving.edit(Generation(draft=False)).edit()
    assert plain.answer == drafted.answer
    assert plain.stats.drafted == {}


def test_margins_are_told_for_every_token_when_asked(serving: Serving) -> None:
    result = serving.edit(Generation(margins=True)).edit()
    assert len(result.margins) == result.stats.output_tokens
    assert serving.edit().edit().margins == []


def test_a_second_request_reads_only_what_changed(serving: Serving) -> None:
    serving.edit().edit()
    stats = serving.edit().edit().stats
    assert stats.reused_tokens == stats.prompt_tokens - 1


def test_sampling_with_the_same_seed_gives_the_same_answer(serving: Serving) -> None:
    hot = Generation(sampling=Sampling(temperature=20.0, top_k=0, top_p=1.0, min_p=0.0, seed=3))
    answers = {serving.explain(hot).explanation().text for _ in range(2)}
    assert len(answers) == 1
    other = Generation(sampling=msgspec.structs.replace(hot.sampling, seed=4))
    assert serving.explain(other).explanation().text not in answers


def test_a_cancelled_request_ends_and_the_next_one_is_right(serving: Serving) -> None:
    held = serving.edit(hold=True)
    held.wait_for_text()
    held.ticket.cancel()
    held.release.set()
    assert held.failure().code == "cancelled"
    assert serving.edit().edit().text == "a = 1\nb = 2\nprint(a + b)\n"


def test_a_request_that_is_cancelled_while_its_prompt_is_read_reads_no_further(
    serving: Serving,
) -> None:
    text = "".join(f"value_{number} = {number}\n" for number in range(60))
    region = Region(path="a.py", text=text, start=0, end=60)
    held = serving.submit(ExplainRequest(region=region), hold_at=Prefill)
    held.wait_until_held()
    held.ticket.cancel()
    held.release.set()
    assert held.failure().code == "cancelled"
    read = [event for event in held.events if isinstance(event, Prefill)]
    assert [event.done for event in read] == [0, 256]
    assert read[-1].total > 512
    assert serving.edit().edit().text == "a = 1\nb = 2\nprint(a + b)\n"


def test_what_was_written_before_a_cancel_is_told(serving: Serving) -> None:
    held = serving.edit(hold=True)
    held.wait_for_text()
    held.ticket.cancel()
    held.release.set()
    assert ANSWER.startswith(held.failure().partial)
    assert held.failure().partial


def test_of_twenty_requests_the_nineteen_cancelled_ones_never_run(serving: Serving) -> None:
    held = serving.edit(hold=True)
    held.wait_for_text()
    waiting = [serving.edit() for _ in range(19)]
    for listener in waiting:
        listener.ticket.cancel()
    assert {listener.failure().code for listener in waiting} == {"cancelled"}
    held.release.set()
    held.edit()
    assert len(serving.recorded) == 1


def test_a_cancel_after_the_end_changes_nothing(serving: Serving) -> None:
    listener = serving.edit()
    listener.edit()
    listener.ticket.cancel()
    assert serving.edit().edit().text


def test_waiting_requests_are_told_how_many_are_ahead(serving: Serving) -> None:
    held = serving.edit(hold=True)
    held.wait_for_text()
    second, third = serving.edit(), serving.edit()
    held.release.set()
    third.edit()
    second.edit()
    assert [e.ahead for e in third.events if isinstance(e, Queued)] == [2, 1]


def test_another_model_is_switched_to_and_said(
    serving: Serving, answering_model: Callable[..., Path]
) -> None:
    other = answering_model("\na = 3\n```", after=OPENING)
    serving.edit().edit()
    listener = serving.edit(Generation(model=str(other)))
    assert listener.edit().text == "a = 3\n"
    [notice] = [event for event in listener.events if isinstance(event, Notice)]
    assert notice.message == f"switching from {serving.model.stem} to {other.stem}"


def test_loading_is_reported_up_to_its_end(serving: Serving) -> None:
    listener = serving.edit()
    listener.edit()
    shares = [event.share for event in listener.events if isinstance(event, Loading)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_model_that_is_not_there_fails_the_request_alone(serving: Serving) -> None:
    failure = serving.edit(Generation(model="/no/such.gguf")).failure()
    assert failure.code == "model"
    assert serving.edit().edit().text


def test_after_a_bug_the_next_request_gets_a_fresh_model(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = serving.edit().edit().text

    def broken(*_: object) -> None:
        raise ValueError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(ActiveSequence, "take", broken)
        assert serving.edit().failure().message == "copydraft has a bug"
    assert serving.scheduler.snapshot().model is None
    assert serving.edit().edit().text == first


def test_a_model_whose_index_cannot_begin_is_let_go(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(Workspaces, "load", broken)
        assert serving.edit().failure().message == "copydraft has a bug"
    assert serving.scheduler.snapshot().model is None
    assert serving.edit().edit().text


def test_an_answer_that_is_no_edit_is_refused_with_what_was_written(
    serving: Serving, answering_model: Callable[..., Path]
) -> None:
    lazy = answering_model("\n# ... existing code ...\n```", after=OPENING)
    failure = serving.edit(Generation(model=str(lazy))).failure()
    assert failure.code == "answer-refused"
    assert "existing code" in failure.partial


def test_what_was_learned_is_kept_when_the_model_is_unloaded(serving: Serving) -> None:
    serving.edit().edit()
    serving.scheduler.unload()
    assert set(serving.profiles.saved) == {"edit"}


def test_a_profile_that_came_meanwhile_survives_the_unloading(serving: Serving) -> None:
    serving.edit().edit()
    serving.profiles.saved["edit"] = b"{}"
    serving.scheduler.unload()
    assert serving.profiles.saved["edit"] == b"{}"


def test_an_answer_is_drafted_from_in_its_workspace_alone(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[list[str]] = []

    def noted(
        documents: Sequence[Document], policy: Policy, *_: object, **__: object
    ) -> CopyDrafter:
        given.append([document.field for document in documents])
        return CopyDrafter(documents, policy)

    monkeypatch.setattr(scheduler, "CopyDrafter", noted)
    for workspace in ("/here", "/there", "", "/here"):
        serving.edit(Generation(workspace=workspace)).edit()
    assert [fields.count("answer") for fields in given] == [0, 0, 0, 1]


def test_an_answer_is_drafted_from_the_files_of_its_workspace(
    serving: Serving, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "other.py").write_text(f"{OPENING}{ANSWER}")
    plain = serving.edit().edit()
    assert "workspace" not in plain.stats.drafted
    serving.workspaces.search(str(project))
    assert serving.workspaces.settle(30)
    # Nothing to copy from in the region and the prompt, which are nearer.
    region = Region(path="a.py", text="\n", start=0, end=1)
    here = Generation(workspace=str(project))
    request = EditRequest(region=region, instruction="set b", generation=here)
    drafted = serving.submit(request, hold=False).edit()
    assert drafted.stats.accepted["workspace"] > 0
    assert (
        drafted.text
        == serving.submit(EditRequest(region=region, instruction="set b"), hold=False).edit().text
    )


def test_an_edit_is_asked_for_with_the_edits_made_before_that_matter(
    serving: Serving, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    here = Generation(workspace=str(project))

    def typed(version: int, text: str) -> None:
        opened = DocumentOpened(name="other.py", version=version, text=text)
        updates = DocumentUpdates(workspace=str(project), owner=os.getpid(), updates=[opened])
        assert serving.scheduler.documents(updates) == []
        assert serving.workspaces.settle(30)

    typed(1, "print(first)\n")
    before = serving.edit(here).edit().stats.prompt_tokens
    typed(2, "show(first)\n")
    assert serving.edit(here).edit().stats.prompt_tokens > before
    assert serving.edit().edit().stats.prompt_tokens == before


def test_unloading_frees_the_model_and_the_next_request_loads_it(serving: Serving) -> None:
    serving.edit().edit()
    assert serving.scheduler.snapshot().model is not None
    assert serving.scheduler.unload() is True
    assert serving.scheduler.snapshot().model is None
    assert serving.scheduler.unload() is False
    assert serving.edit().edit().text


def test_nothing_of_a_cancelled_request_keeps_the_memory_of_an_unloaded_model(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its kept prompts may be a gigabyte, and the collector has little to do in an idle daemon."""
    engines: list[weakref.ref[Engine]] = []
    load = loading.load

    def noted(*arguments: Any) -> loading.Loaded:
        loaded = load(*arguments)
        engines.append(weakref.ref(loaded.engine))
        return loaded

    monkeypatch.setattr(loading, "load", noted)
    gc.disable()
    try:
        held = serving.edit(hold=True)
        held.wait_for_text()
        held.ticket.cancel()
        held.release.set()
        assert held.failure().code == "cancelled"
        assert serving.scheduler.unload()
        assert [engine() for engine in engines] == [None]
    finally:
        gc.enable()


def test_the_status_is_told_while_a_model_is_being_unloaded(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving.edit().edit()
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        assert go_on.wait(30)

    monkeypatch.setattr(serving.workspaces, "unload", slow)
    freed: list[bool] = []
    unloading = threading.Thread(target=lambda: freed.append(serving.scheduler.unload()))
    unloading.start()
    assert begun.wait(30)
    told: list[ServingStatus] = []
    asking = threading.Thread(target=lambda: told.append(serving.scheduler.snapshot()))
    asking.start()
    asking.join(10)
    go_on.set()
    unloading.join(30)
    assert [status.model for status in told] == [None]
    assert freed == [True]


def test_the_status_tells_model_and_acceptance(serving: Serving) -> None:
    serving.edit().edit()
    status = serving.scheduler.snapshot()
    assert status.model is not None
    assert status.model.path == str(serving.model)
    assert status.model.memory_kind == "dense"
    assert 0 < status.acceptance <= 1
    assert (status.requests, status.active, status.waiting) == (1, 0, 0)
    assert status.idle_since is not None


def test_stopping_ends_running_and_waiting_requests(serving: Serving) -> None:
    held = serving.edit(hold=True)
    held.wait_for_text()
    waiting = serving.edit()
    stopper = threading.Thread(target=serving.scheduler.stop)
    stopper.start()
    held.release.set()
    stopper.join(30)
    assert [held.failure().message, waiting.failure().message] == ["the daemon is stopping"] * 2
    assert serving.edit().failure().code == "cancelled"


def test_an_explanation_is_markdown_whose_spans_cover_it(
    serving: Serving, answering_model: Callable[..., Path]
) -> None:
    model = answering_model("Adds `a` and `b`.")
    result = serving.explain(Generation(model=str(model))).explanation()
    assert result.text == "Adds `a` and `b`."
    assert result.spans[-1].end == len(result.text)


def test_thinking_is_in_no_delta_of_an_explanation(
    serving: Serving, answering_model: Callable[..., Path]
) -> None:
    model = answering_model("<think>\nhm\n</think>\n\nAdds `a` and `b`.")
    asked = serving.explain(Generation(model=str(model)))
    result = asked.explanation()
    deltas = [event for event in asked.events if isinstance(event, Delta)]
    assert "".join(delta.text for delta in deltas) == "Adds `a` and `b`."
    assert all(span.end <= len(delta.text) for delta in deltas for span in delta.spans)
    # The clients see that something is being written.
    assert deltas[0].tokens < result.stats.output_tokens
    assert deltas[0].text == ""


def test_a_stop_string_ends_the_answer_and_is_not_in_it(
    serving: Serving, answering_model: Callable[..., Path]
) -> None:
    model = answering_model("Adds `a` and `b`. Then it prints the sum.")
    result = serving.explain(Generation(model=str(model), stop=["Then it"])).explanation()
    assert result.text == "Adds `a` and `b`."
    assert result.stats.stop_reason == "stop"


def test_a_daemon_that_stops_tells_twenty_waiting_requests_once_each(serving: Serving) -> None:
    held = serving.edit(hold=True)
    held.wait_for_text()
    waiting = [serving.edit() for _ in range(20)]
    stopper = threading.Thread(target=serving.scheduler.stop)
    stopper.start()
    held.release.set()
    stopper.join(30)
    ends = [[e for e in one.events if isinstance(e, Failed)] for one in waiting]
    assert [[end.message for end in one] for one in ends] == [["the daemon is stopping"]] * 20


def test_those_that_wait_behind_a_cancelled_request_move_up(serving: Serving) -> None:
    held = serving.edit(hold=True)
    held.wait_for_text()
    second, third = serving.edit(), serving.edit()
    second.ticket.cancel()
    assert [e.ahead for e in third.events if isinstance(e, Queued)] == [2, 1]
    held.release.set()
    third.edit()


def test_unloading_after_a_failed_load_says_that_nothing_was_loaded(serving: Serving) -> None:
    serving.edit(Generation(model="/no/such.gguf")).failure()
    assert serving.scheduler.unload() is False
