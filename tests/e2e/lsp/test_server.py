"""The language server, the daemon that it starts and a real engine."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from copydraft.api import lifecycle
from tests.fixtures.daemons import until
from tests.fixtures.editor import Editor, editing

TEXT = "a = 1\r\nb = 1\r\nprint(a + b)"
ANSWER = "\na = 1\nb = 2\nprint(a + b)\n```"
EXPLANATION = "It prints a sum."


@pytest.fixture
async def editor(answering_model: Callable[..., Path]) -> AsyncIterator[Editor]:
    """An editor whose model answers every edit of a Python file with ANSWER."""
    model = str(answering_model(ANSWER, after="```python"))
    async with editing(options={"model": model}) as session:
        yield session


async def test_an_edit_starts_the_daemon_and_changes_only_what_changes(editor: Editor) -> None:
    uri = editor.open(TEXT)
    answer = await editor.command(
        "copydraft.edit", editor.arguments(uri, (0, 3), instruction="set b", id="one")
    )
    assert editor.texts[uri] == "a = 1\r\nb = 2\r\nprint(a + b)"
    (change,) = editor.applied[0].edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert [edit.range.start for edit in change.edits] == [types.Position(1, 4)]
    assert answer["stats"]["agent"] == "Test Editor"
    last = editor.deltas[-1]
    assert last.text == ANSWER
    assert [(hunk.start, hunk.end, hunk.lines) for hunk in last.hunks] == [(1, 2, ["b = 2"])]
    assert {span.corpus for span in last.spans} > {""}


async def test_an_explanation_is_markdown(answering_model: Callable[..., Path]) -> None:
    async with editing(options={"model": str(answering_model(EXPLANATION))}) as editor:
        uri = editor.open(TEXT)
        answer = await editor.command("copydraft.explain", editor.arguments(uri, (0, 3)))
    assert answer["text"] == EXPLANATION


async def test_a_model_that_is_missing_is_told(editor: Editor) -> None:
    uri = editor.open(TEXT)
    editor.client.workspace_did_change_configuration(
        types.DidChangeConfigurationParams({"copydraft": {"model": "/missing.gguf"}})
    )
    with pytest.raises(JsonRpcException, match="missing"):
        await editor.command("copydraft.edit", editor.arguments(uri, (0, 3), instruction="set b"))
    assert editor.texts[uri] == TEXT


async def test_a_killed_daemon_is_started_again(editor: Editor) -> None:
    uri = editor.open(TEXT)
    for _ in range(2):
        await editor.command(
            "copydraft.edit",
            editor.arguments(uri, (0, 3), instruction="set b", apply=False),
        )
        holder = lifecycle.holder()
        assert holder
        os.kill(holder.pid, signal.SIGKILL)


async def test_two_editors_share_one_daemon(
    editor: Editor, answering_model: Callable[..., Path]
) -> None:
    options = {"model": str(answering_model(ANSWER, after="```python"))}
    async with editing(options=options) as other:
        await asyncio.gather(
            *(
                one.command(
                    "copydraft.edit",
                    one.arguments(one.open(TEXT), (0, 3), instruction="set b"),
                )
                for one in (editor, other)
            )
        )
        assert editor.texts == other.texts == {"file:///w/a.py": TEXT.replace("b = 1", "b = 2")}
        status = [await one.command("copydraft.status") for one in (editor, other)]
    assert status[0]["daemon"]["pid"] == status[1]["daemon"]["pid"]


@pytest.mark.model
async def test_a_cancelled_request_leaves_the_daemon_idle(
    real_model: Callable[[str], Path],
) -> None:
    async with editing(options={"model": str(real_model("smollm2-135m"))}) as editor:
        uri = editor.open(TEXT)
        asked = editor.ask(
            "copydraft.explain",
            editor.arguments(uri, (0, 3), question="explain every line at length", id="one"),
        )
        await until(lambda: bool(editor.deltas))
        asked.cancel()
        with pytest.raises(JsonRpcException) as caught:
            await asked
        assert caught.value.code == types.LSPErrorCodes.RequestCancelled
        while (await editor.command("copydraft.status"))["daemon"]["active"]:
            await asyncio.sleep(0.05)
