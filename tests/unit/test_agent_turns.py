"""Edit tasks as an agent would ask for them."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from copydraft.engine.llama import Model
from copydraft.evaluation.agent_turns import calls_of, turn_of
from copydraft.evaluation.edit_task import EditTask
from copydraft.evaluation.traces import Vocabulary
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


def test_the_calls_have_what_changes_and_lines_around_it() -> None:
    lines = [f"line {number}\n" for number in range(51, 60)]
    task = replace(
        TASK, end=59, before="".join(lines), after="".join([*lines[:4], "new\n", *lines[5:]])
    )
    assert calls_of(task) == [
        {
            "path": "a.py",
            "old_text": "line 52\nline 53\nline 54\nline 55\nline 56\nline 57\nline 58\n",
            "new_text": "line 52\nline 53\nline 54\nnew\nline 56\nline 57\nline 58\n",
        }
    ]


def test_a_task_is_replayed_as_the_turn_that_makes_its_edit(dense_model: Path) -> None:
    task = replace(TASK, before="line 51\nline 52\n", after="line 51\nnew\n")
    vocabulary, tokenizer = Vocabulary(dense_model), Model(dense_model, vocab_only=True)
    trace = vocabulary.turn(task)
    written = b"".join(map(tokenizer.piece, trace.output)).decode()
    assert written.startswith('<tool_call>\n{"name": "edit_file", "arguments": {"path": "a.py"')
    assert '"new_text": "line 51\\nnew\\n"}}' in written
    assert (trace.kind, [source.field for source in trace.documents]) == ("chat", ["call"] * 2)
