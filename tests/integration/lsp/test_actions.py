"""Code actions through the real server."""

from __future__ import annotations

from typing import Any

import pytest
from lsprotocol import types

from tests.fixtures.daemons import Running
from tests.fixtures.editor import Editor, editing

TEXT = "x = 1\n\ndef add(a, b):\n    return a - b\n"
INSTRUCTIONS = ["Add documentation comments", "Simplify without changing what it does"]


def at(*places: int) -> types.Range:
    return types.Range(types.Position(*places[:2]), types.Position(*places[2:]))


def argument(action: dict[str, Any]) -> dict[str, Any]:
    """What the action's command is called with."""
    (only,) = action["command"]["arguments"]
    assert isinstance(only, dict)
    return only


def lines(action: dict[str, Any]) -> tuple[int, int]:
    range_ = argument(action)["range"]
    return range_["start"]["line"], range_["end"]["line"]


async def test_a_selection_can_be_rewritten_and_explained(editor: Editor) -> None:
    uri = editor.open(TEXT)
    found = await editor.actions(uri, at(0, 0, 1, 0))
    assert [action["title"] for action in found] == [
        *(f"copydraft: {wish} (the selection)" for wish in INSTRUCTIONS),
        "copydraft: explain the selection",
    ]
    assert {lines(action) for action in found} == {(0, 1)}


async def test_at_the_cursor_it_is_the_definition_there(editor: Editor) -> None:
    uri = editor.open(TEXT)
    found = await editor.actions(uri, at(3, 5, 3, 5))
    assert found[-1]["title"] == "copydraft: explain add"
    assert {lines(action) for action in found} == {(2, 4)}
    assert await editor.actions(uri, at(0, 0, 0, 0)) == []


async def test_on_the_empty_line_below_the_text_nothing_is_offered(editor: Editor) -> None:
    uri = editor.open(TEXT)
    assert await editor.actions(uri, at(4, 0, 4, 0)) == []


async def test_a_diagnostic_behind_the_text_is_about_its_last_line(editor: Editor) -> None:
    uri = editor.open("x = (\n")
    problem = types.Diagnostic(at(1, 0, 1, 0), "'(' was never closed")
    (fix,) = await editor.actions(uri, at(1, 0, 1, 0), problem)
    assert lines(fix) == (0, 1)


async def test_a_diagnostic_can_be_fixed_by_its_own_text(editor: Editor) -> None:
    uri = editor.open(TEXT)
    problem = types.Diagnostic(at(3, 11, 3, 16), "adds nothing\nat all")
    (fix,) = await editor.actions(uri, at(3, 0, 3, 0), problem, only=["quickfix"])
    assert (fix["title"], lines(fix)) == ("Fix with copydraft: adds nothing", (2, 4))
    assert [found["message"] for found in fix["diagnostics"]] == [problem.message]
    assert argument(fix)["instruction"] == (
        "Fix this problem in line 2 of the region: adds nothing\nat all"
    )


@pytest.mark.parametrize(
    ("only", "count"),
    [("refactor", 2), ("refactor.rewrite", 2), ("copydraft", 1), ("source", 0), ("", 3)],
)
async def test_only_the_kinds_asked_for_are_offered(editor: Editor, only: str, count: int) -> None:
    uri = editor.open(TEXT)
    assert len(await editor.actions(uri, at(0, 0, 1, 0), only=[only])) == count


async def test_an_action_is_a_command_that_the_server_runs(editor: Editor, daemon: Running) -> None:
    options = {"instructions": ["echo x = 2\n"]}
    async with editing(options=options) as other:
        uri = other.open(TEXT)
        action = (await other.actions(uri, at(0, 0, 1, 0)))[0]
        await other.command(action["command"]["command"], argument(action))
        assert other.texts[uri].startswith("x = 2\n")


async def test_a_client_that_asks_for_instructions_is_offered_an_edit(daemon: Running) -> None:
    async with editing(experimental={"copydraft": {"asks": True}}) as editor:
        uri = editor.open(TEXT)
        action = (await editor.actions(uri, at(0, 0, 1, 0)))[0]
    assert action["title"] == "copydraft: edit the selection…"
    assert argument(action)["instruction"] == ""


async def test_nothing_is_offered_in_a_disabled_language(daemon: Running) -> None:
    async with editing(options={"disabledLanguages": ["python"]}) as editor:
        uri = editor.open(TEXT)
        assert await editor.actions(uri, at(0, 0, 1, 0)) == []
