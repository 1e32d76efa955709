"""Edit tasks as an agent would ask for them."""

from __future__ import annotations

from copydraft.evaluation.agent_turns import turn_of
from copydraft.evaluation.traces import EditTask
from copydraft.protocol import Generation

TASK = EditTask(
    repo="r",
    commit="c",
    path="a.py",
    instruction="Rename b",
    start=50,
    end=52,
    before="",
    after="",
    file="".join(f"line {number}\n" for number in range(1, 201)),
)


def test_the_agent_has_read_the_lines_around_with_their_numbers() -> None:
    asked, call, result = turn_of(TASK, Generation()).messages[1:]
    assert asked.content == "Rename b\n\nIt is about a.py, lines 51 to 52."
    assert call.calls[0].arguments == '{"path": "a.py", "offset": 11, "limit": 82}'
    assert result.answers == call.calls[0].id
    first, *_, last = result.content.splitlines()
    assert (first, last) == ("    11\tline 11", "    92\tline 92")


def test_it_may_call_its_tools() -> None:
    turn = turn_of(TASK, Generation(max_tokens=5))
    assert [tool.name for tool in turn.tools] == ["read_file", "edit_file"]
    assert turn.generation.max_tokens == 5


def test_small_models_do_not_go_on_for_ever() -> None:
    assert turn_of(TASK, Generation()).generation.max_tokens == 512
