"""The trial of the answer formats on a model: what it reports, and the setting that follows."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from click.testing import CliRunner

from copydraft import format_trial
from copydraft.cli import cli
from copydraft.errors import AnswerRefused, ModelProblem
from copydraft.format_trial import EXAMPLES, Trial, best
from copydraft.protocol import EditFormat, EditRequest, EditResult, Event
from tests.fixtures.fake_service import stats


def tried(name: EditFormat, *, applied: int, right: int) -> Trial:
    return Trial(name, 3, applied, right, 100, [])


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that does all that is asked in search/replace blocks, two edits in a fence."""

    async def edit(_client: object, request: EditRequest) -> AsyncGenerator[Event]:
        right = {example.path: example.expected for example in EXAMPLES}[request.region.path]
        if request.format == "fence" and request.region.path == "area.py":
            right = "def area(width):\n"
        elif request.format not in ("fence", "search-replace"):
            raise AnswerRefused("the model answered in [prose]", "use a larger model")
        yield EditResult(text=right, diff="@@", spans=[], stats=stats(), answer=right)

    async def connect(**_: Any) -> FakeClient:
        return FakeClient()

    monkeypatch.setattr("copydraft.client.Client.edit", edit)
    monkeypatch.setattr("copydraft.client.Client.connect", connect)
    monkeypatch.setattr("copydraft.terminal_models.ready", lambda name: name or "tiny")


class FakeClient:
    async def __aenter__(self) -> FakeClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


def test_the_examples_change_something_and_only_in_one_way() -> None:
    assert all(example.text != example.expected for example in EXAMPLES)


def test_the_format_with_the_most_right_edits_is_the_best() -> None:
    trials = [tried("fence", applied=3, right=1), tried("plain", applied=2, right=2)]
    assert best(trials) == "plain"


def test_of_equal_formats_the_first_is_the_best() -> None:
    trials = [tried("fence", applied=3, right=3), tried("plain", applied=3, right=3)]
    assert best(trials) == "fence"


def test_no_format_is_best_if_none_got_an_edit_right() -> None:
    assert best([tried("fence", applied=3, right=0)]) is None


@pytest.mark.usefixtures("model")
def test_the_report_names_what_works_and_the_setting() -> None:
    result = CliRunner().invoke(cli, ["doctor", "--format"])
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "format applied right tokens first fault"
    assert lines[1].startswith("fence 3/3 2/3 ")
    assert lines[2].startswith("search-replace 3/3 3/3 ")
    assert lines[5] == "plain 0/3 0/3 0 the model answered in [prose]"
    assert 'edit_format = "search-replace"' in result.stdout
    assert result.exit_code == 0


@pytest.mark.usefixtures("model")
def test_the_report_as_json() -> None:
    result = CliRunner().invoke(cli, ["doctor", "--format", "--json"])
    report = json.loads(result.stdout)
    assert report["edit_format"] == "search-replace"
    assert [trial["right"] for trial in report["formats"]] == [2, 3, 0, 0, 0]
    assert report["model"] == "tiny"
    assert report["formats"][2]["faults"] == ["the model answered in [prose]"] * 3


@pytest.mark.usefixtures("model")
def test_the_format_that_is_set_already_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPYDRAFT_EDIT_FORMAT", "search-replace")
    result = CliRunner().invoke(cli, ["doctor", "--format"])
    assert result.stdout.endswith('best with this model: "search-replace", as it is set\n')


@pytest.mark.usefixtures("model")
def test_lines_left_as_they_are_count_as_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    async def edit(_client: object, request: EditRequest) -> AsyncGenerator[Event]:
        text = request.region.text
        yield EditResult(text=text, diff="", spans=[], stats=stats(), answer=text)

    monkeypatch.setattr("copydraft.client.Client.edit", edit)
    report = json.loads(CliRunner().invoke(cli, ["doctor", "--format", "--json"]).stdout)
    fence = report["formats"][0]
    assert (fence["applied"], fence["right"], fence["output_tokens"]) == (0, 0, 0)
    assert fence["faults"] == ["the model left the lines as they are"] * 3


@pytest.mark.usefixtures("model")
def test_a_model_that_masters_no_format_is_told_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        format_trial, "trial", lambda name, _generation: tried(name, applied=0, right=0)
    )
    result = CliRunner().invoke(cli, ["doctor", "--format"])
    assert "no format works with this model" in result.stdout
    assert result.exit_code == 1


@pytest.mark.usefixtures("model")
def test_any_other_fault_ends_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    def trial(name: EditFormat, _generation: object) -> Trial:
        raise ModelProblem("the model is damaged", "pull it again")

    monkeypatch.setattr(format_trial, "trial", trial)
    result = CliRunner().invoke(cli, ["doctor", "--format"])
    assert "the model is damaged" in result.stderr
    assert result.exit_code == 5
