"""Requests that wait: their order, what they are told, and who gives way."""

from __future__ import annotations

from typing import Literal

from copydraft.protocol import (
    CompleteRequest,
    EditRequest,
    Event,
    ExplainRequest,
    Generation,
    PrepareRequest,
    Queued,
    Region,
)
from copydraft.serving.service import Request
from copydraft.serving.waiting import Job, Waiting

REGION = Region(path="a.py", text="a\n", start=0, end=1)


class Noted(Job):
    """A job that keeps what it is told."""

    def __init__(self, request: Request) -> None:
        self.events: list[Event] = []
        super().__init__(request, self.events.append, lambda _: None)

    @property
    def told(self) -> list[int]:
        return [event.ahead for event in self.events if isinstance(event, Queued)]


def edit() -> Noted:
    return Noted(EditRequest(region=REGION, instruction="do"))


def explain() -> Noted:
    return Noted(ExplainRequest(region=REGION))


def complete(agent: str = "", workspace: str = "") -> Noted:
    generation = Generation(agent=agent, workspace=workspace)
    return Noted(CompleteRequest(path="a.py", text="a", offset=1, generation=generation))


def prepare(kind: Literal["edit", "explain"] = "edit", workspace: str = "") -> Noted:
    generation = Generation(workspace=workspace)
    return Noted(PrepareRequest(region=REGION, kind=kind, generation=generation))


def order(*jobs: Job) -> list[Job]:
    waiting = Waiting()
    for job in jobs:
        waiting.add(job, running=1)
    return waiting.drain()


def test_of_one_kind_the_first_comes_first() -> None:
    first, second, third = edit(), explain(), edit()
    assert order(first, second, third) == [first, second, third]


def test_edits_come_before_completions_and_these_before_what_is_prepared() -> None:
    prepared, completion, edited = prepare(), complete(), edit()
    assert order(prepared, completion, edited) == [edited, completion, prepared]


def test_a_job_is_told_how_many_are_ahead() -> None:
    waiting, first, second = Waiting(), edit(), edit()
    waiting.add(first, running=0)
    waiting.add(second, running=0)
    assert (first.told, second.told) == ([], [1])


def test_those_whose_place_changes_are_told() -> None:
    waiting, completion, edited = Waiting(), complete(), edit()
    waiting.add(completion, running=1)
    waiting.add(edited, running=1)
    assert (completion.told, edited.told) == ([1, 2], [1])
    assert waiting.take() is edited
    assert completion.told == [1, 2, 1]


def test_a_newer_completion_of_the_same_caller_puts_out_the_one_that_waits() -> None:
    waiting, old, new = Waiting(), complete("vim", "/a"), complete("vim", "/a")
    assert waiting.add(old, running=1) == []
    assert waiting.add(new, running=1) == [old]
    assert waiting.drain() == [new]


def test_completions_of_other_callers_and_workspaces_wait_beside_one_another() -> None:
    jobs = complete("vim", "/a"), complete("vim", "/b"), complete("helix", "/a")
    assert order(*jobs) == list(jobs)


def test_a_newer_prompt_to_prepare_puts_out_the_one_that_waits() -> None:
    waiting, old, new = Waiting(), prepare("edit"), prepare("explain")
    waiting.add(old, running=1)
    assert waiting.add(new, running=1) == [old]


def test_edits_are_never_put_out() -> None:
    first, second = edit(), edit()
    assert order(first, second) == [first, second]


def test_a_running_completion_gives_way_to_edits_and_explanations() -> None:
    assert complete().gives_way_to(edit())
    assert complete().gives_way_to(explain())
    assert not complete().gives_way_to(complete())
    assert not complete().gives_way_to(prepare())


def test_what_is_prepared_gives_way_to_everything() -> None:
    assert all(prepare().gives_way_to(other) for other in (edit(), complete(), prepare()))


def test_edits_give_way_to_nothing() -> None:
    assert not any(edit().gives_way_to(other) for other in (edit(), complete(), prepare()))


def test_a_removed_job_does_not_wait_any_more() -> None:
    waiting, first, second = Waiting(), edit(), edit()
    waiting.add(first, running=1)
    waiting.add(second, running=1)
    assert waiting.remove(first, running=1)
    assert not waiting.remove(first, running=1)
    assert (second.told, len(waiting)) == ([2, 1], 1)
