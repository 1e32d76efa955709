"""Reading a prompt before its instruction is known, on every kind of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from copydraft.config import Config
from copydraft.protocol import (
    EditRequest,
    ExplainRequest,
    Generation,
    Loading,
    Notice,
    Prefill,
    PrepareRequest,
    Region,
    Turn,
)
from tests.fixtures.serving import ANSWER, OPENING, REGION, Serving
from tests.fixtures.tiny_models import FILL_MIDDLE

MODELS = ["dense_model", "sliding_window_model", "hybrid_model", "short_conv_model"]
LINES = "".join(f"value_{number} = {number}\n" for number in range(30))
LONG = Region(path="a.py", text=LINES, start=0, end=30)
SHORT = Generation(max_tokens=8)


@contextmanager
def serving_with(model: Path) -> Iterator[Serving]:
    one = Serving(model, Config(model=str(model), context=2048, threads=1))
    try:
        yield one
    finally:
        one.scheduler.stop()


@pytest.fixture
def serving(answering_model: Callable[..., Path]) -> Iterator[Serving]:
    with serving_with(answering_model(ANSWER, after=OPENING)) as one:
        yield one


def edit_of(region: Region) -> EditRequest:
    return EditRequest(region=region, instruction="set b", generation=SHORT)


def prepare_of(region: Region) -> PrepareRequest:
    return PrepareRequest(region=region, kind="edit", generation=SHORT)


@pytest.mark.parametrize("name", MODELS)
def test_an_edit_reads_nothing_again_of_what_was_prepared(
    name: str, request: pytest.FixtureRequest
) -> None:
    with serving_with(request.getfixturevalue(name)) as serving:
        prepared = serving.submit(prepare_of(REGION)).prepared()
        serving.submit(edit_of(REGION)).wait()
        [stats] = serving.recorded
        assert prepared.reused == 0
        assert prepared.prompt_tokens > 50
        assert stats.reused_tokens >= prepared.prompt_tokens - 1
        assert stats.prompt_tokens - stats.reused_tokens < 60


@pytest.mark.parametrize("name", MODELS)
def test_the_answer_is_the_same_as_without_preparing(
    name: str, request: pytest.FixtureRequest
) -> None:
    answers = []
    for prepares in (False, True):
        with serving_with(request.getfixturevalue(name)) as serving:
            if prepares:
                serving.submit(prepare_of(LONG)).prepared()
            answers.append(serving.submit(edit_of(LONG)).failure().partial)
    assert answers[0] == answers[1] != ""


@pytest.mark.parametrize("name", MODELS)
def test_another_region_can_be_prepared_after_an_edit(
    name: str, request: pytest.FixtureRequest
) -> None:
    with serving_with(request.getfixturevalue(name)) as serving:
        serving.submit(edit_of(LONG)).wait()
        other = Region(path="a.py", text=LINES, start=10, end=20)
        prepared = serving.submit(prepare_of(other)).prepared()
        serving.submit(edit_of(other)).wait()
        assert serving.recorded[-1].reused_tokens >= prepared.prompt_tokens - 1


def test_a_completion_takes_nothing_from_an_edit_that_is_prepared(
    answering_model: Callable[..., Path],
) -> None:
    with serving_with(answering_model(ANSWER, after=FILL_MIDDLE)) as serving:
        prepared = serving.submit(prepare_of(LONG)).prepared()
        serving.complete("def f():\n    \n", 13).completion()
        serving.submit(edit_of(LONG)).wait()
        assert serving.recorded[-1].reused_tokens >= prepared.prompt_tokens - 1


def test_what_was_read_already_is_not_read_again(serving: Serving) -> None:
    serving.edit().edit()
    again = serving.prepare().prepared()
    assert again.reused == again.prompt_tokens


def test_a_question_is_prepared_as_an_edit_is(serving: Serving) -> None:
    request = PrepareRequest(region=REGION, kind="explain")
    prepared = serving.submit(request).prepared()
    serving.submit(ExplainRequest(region=REGION, question="why?")).wait()
    assert serving.recorded[-1].reused_tokens >= prepared.prompt_tokens - 1


def test_preparing_writes_nothing_and_is_not_counted(serving: Serving) -> None:
    serving.prepare().prepared()
    assert serving.recorded == []
    assert serving.scheduler.snapshot().requests == 1


@pytest.mark.parametrize("name", MODELS)
def test_an_edit_ends_it_and_finds_what_was_read_by_then(
    name: str, request: pytest.FixtureRequest
) -> None:
    with serving_with(request.getfixturevalue(name)) as serving:
        held = serving.submit(prepare_of(LONG), hold_at=Prefill)
        held.wait_until_held()
        edited = serving.submit(edit_of(LONG))
        held.release.set()
        assert held.failure().code == "cancelled"
        edited.wait()
        assert serving.recorded[-1].reused_tokens >= 256


def test_a_region_that_is_too_large_is_refused_as_its_edit_would_be(serving: Serving) -> None:
    region = Region(path="a.py", text=LINES * 10, start=0, end=300)
    assert serving.submit(prepare_of(region)).failure().code == "bad-request"


def test_lines_that_are_not_there_are_refused(serving: Serving) -> None:
    region = Region(path="a.py", text="a\n", start=3, end=4)
    assert serving.submit(prepare_of(region)).failure().code == "bad-request"


def test_an_edit_finds_the_model_that_was_being_loaded_for_what_is_prepared(
    serving: Serving,
) -> None:
    held = serving.prepare(hold_at=Loading)
    held.wait_until_held()
    edited = serving.edit()
    held.release.set()
    assert held.failure().code == "cancelled"
    assert edited.edit().text == "a = 1\nb = 2\nprint(a + b)\n"
    assert not [event for event in edited.events if isinstance(event, Loading)]


def test_a_model_that_the_edit_does_not_want_is_not_loaded_to_the_end(
    serving: Serving, answering_model: Callable[..., Path]
) -> None:
    held = serving.prepare(hold_at=Loading)
    held.wait_until_held()
    other = answering_model("\na = 3\n```", after=OPENING)
    edited = serving.edit(Generation(model=str(other)))
    held.release.set()
    assert held.failure().code == "cancelled"
    assert edited.edit().text == "a = 3\n"
    assert not [event for event in edited.events if isinstance(event, Notice)]


def test_a_request_may_show_more_or_less_of_the_file_than_the_daemon_is_set_to(
    serving: Serving,
) -> None:
    region = Region(path="a.py", text=LINES * 3, start=0, end=1)
    shown = []
    for file_context in (0, 200, 500):
        generation = Generation(file_context=file_context)
        serving.submit(ExplainRequest(region=region, generation=generation)).wait()
        shown.append(serving.recorded[-1].prompt_tokens)
    all_of_it, little, some = shown
    assert little < some < all_of_it


# --- questions that follow on others ---


def test_a_question_that_follows_reads_only_what_is_new(
    answering_model: Callable[..., Path],
) -> None:
    with serving_with(answering_model("Adds `a` and `b`.")) as serving:
        first = serving.explain().explanation()
        turns = [Turn(question="", answer=first.text)]
        request = ExplainRequest(region=REGION, question="why?", turns=turns)
        second = serving.submit(request).explanation()
        assert second.stats.reused_tokens >= first.stats.prompt_tokens


def test_a_conversation_too_long_for_the_context_loses_its_oldest_questions_and_says_so(
    answering_model: Callable[..., Path],
) -> None:
    with serving_with(answering_model("Adds `a` and `b`.")) as serving:
        turns = [Turn(question=f"and {n}?", answer="so " * 200) for n in range(6)]
        listener = serving.submit(ExplainRequest(region=REGION, question="why?", turns=turns))
        assert listener.explanation().text == "Adds `a` and `b`."
        [notice] = [event for event in listener.events if isinstance(event, Notice)]
        assert notice.message.startswith("the conversation is too long for the context: its ")
