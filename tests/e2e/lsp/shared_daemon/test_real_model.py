"""Every feature of the language server over one daemon with a real model.

What the model writes is its own affair: an answer is compared with the daemon's own, to the same
request without drafts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from copydraft.client import Client
from copydraft.protocol import (
    CompleteRequest,
    CompleteResult,
    EditRequest,
    EditResult,
    Generation,
    Region,
)
from copydraft.textedits import split_lines
from tests.fixtures.daemons import until
from tests.fixtures.editor import Editor, editing

# On a new machine the model is fetched first.
pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]

TEXT = "def area(width, height):\n    return width - height\n\n\nprint(area(2, 3))\n"
FUNCTION = (0, 2)
WISH = "Add type hints"
SHORT = "What is printed? Answer with the number alone."
LONG = "Explain every word of these lines at length."


@pytest.fixture
def model(real_model: Callable[[str], Path]) -> str:
    return str(real_model("qwen2.5-coder-0.5b"))


@pytest.fixture
async def editor(model: str) -> AsyncIterator[Editor]:
    # Strict: otherwise drafts may decide between two tokens of all but the same chance.
    async with editing(options={"model": model, "strict": True}) as session:
        yield session


async def plainly_edited(model: str, text: str, lines: tuple[int, int], instruction: str) -> str:
    """What `text` becomes by the daemon's own edit without drafts."""
    request = EditRequest(
        region=Region(path="a.py", text=text, start=lines[0], end=lines[1]),
        instruction=instruction,
        generation=Generation(model=model, draft=False),
    )
    async with await Client.connect() as client, aclosing(client.edit(request)) as events:
        result = [event async for event in events][-1]
    assert isinstance(result, EditResult)
    old = split_lines(text)
    return "".join([*old[: lines[0]], result.text, *old[lines[1] :]])


async def plainly_completed(model: str, text: str, offset: int) -> str:
    """What the daemon itself puts there without drafts."""
    generation = Generation(model=model, draft=False)
    request = CompleteRequest(path="a.py", text=text, offset=offset, generation=generation)
    async with await Client.connect() as client, aclosing(client.complete(request)) as events:
        result = [event async for event in events][-1]
    assert isinstance(result, CompleteResult)
    return result.text


async def idle(editor: Editor) -> dict[str, Any]:
    """The server's status once the daemon has nothing to do."""
    while True:
        status: dict[str, Any] = await editor.command("copydraft.status")
        if not status["daemon"]["active"] + status["daemon"]["waiting"]:
            return status


async def test_an_edit_is_the_one_that_the_daemon_makes_without_drafts(
    editor: Editor, model: str
) -> None:
    uri = editor.open(TEXT)
    asked = editor.arguments(uri, FUNCTION, instruction=WISH)
    stats = (await editor.command("copydraft.edit", asked))["stats"]
    assert editor.texts[uri] == await plainly_edited(model, TEXT, FUNCTION, WISH) != TEXT
    assert stats["accepted"]["region"] > 0


async def test_an_edit_streams_its_text_its_changes_and_where_it_copied_from(
    editor: Editor,
) -> None:
    uri = editor.open(TEXT)
    asked = editor.arguments(uri, FUNCTION, instruction=WISH, id="one")
    answer = await editor.command("copydraft.edit", asked)
    assert len(editor.deltas) > 1
    last = editor.deltas[-1]
    assert all(last.text.startswith(delta.text) for delta in editor.deltas)
    ends = [span.end for span in last.spans]
    assert [span.start for span in last.spans] == [0, *ends[:-1]]
    assert ends[-1] == len(last.text)
    assert {"", "region"} <= {span.corpus for span in last.spans}
    lines = TEXT.splitlines()
    for hunk in reversed(last.hunks):
        lines[hunk.start : hunk.end] = hunk.lines
    assert lines == editor.texts[uri].splitlines()
    assert answer["text"] in editor.texts[uri]


async def test_an_explanation_streams_and_can_be_asked_on_about(editor: Editor) -> None:
    uri = editor.open(TEXT)
    asked = editor.arguments(uri, (0, 5), question=SHORT, id="one")
    first = await editor.command("copydraft.explain", asked)
    assert first["text"] == editor.deltas[-1].text.strip() != ""
    second = await editor.command(
        "copydraft.explain", {"session": first["session"], "question": SHORT}
    )
    assert second["session"] == first["session"]
    assert second["text"] != ""
    assert second["stats"]["prompt_tokens"] > first["stats"]["prompt_tokens"]
    assert second["stats"]["reused_tokens"] >= first["stats"]["prompt_tokens"] - 1


async def test_what_was_prepared_is_not_read_again(editor: Editor) -> None:
    uri = editor.open(TEXT.replace("area", "size"))
    warm = await editor.command("copydraft.prepare", editor.arguments(uri, FUNCTION))
    asked = editor.arguments(uri, FUNCTION, instruction=WISH, apply=False)
    stats = (await editor.command("copydraft.edit", asked))["stats"]
    assert warm["reused"] < warm["promptTokens"]
    assert stats["reused_tokens"] >= warm["promptTokens"] - 1


async def test_a_completion_is_the_one_that_the_daemon_makes_without_drafts(
    editor: Editor, model: str
) -> None:
    before = "def area(width, height):\n    return "
    uri = editor.open(before + "\n\n\nprint(area(2, 3))\n")
    params = types.InlineCompletionParams(
        types.InlineCompletionContext(types.InlineCompletionTriggerKind.Invoked),
        types.TextDocumentIdentifier(uri),
        types.Position(1, 11),
    )
    answer = await editor.client.text_document_inline_completion_async(params)
    assert isinstance(answer, types.InlineCompletionList)
    expected = await plainly_completed(model, editor.texts[uri], len(before))
    assert [item.insert_text for item in answer.items] == [expected] != [""]


async def test_after_a_cancel_the_daemon_is_idle_and_the_next_edit_right(
    editor: Editor, model: str
) -> None:
    uri = editor.open(TEXT)
    asked = editor.ask("copydraft.explain", editor.arguments(uri, (0, 5), question=LONG, id="one"))
    await until(lambda: bool(editor.deltas))
    asked.cancel()
    with pytest.raises(JsonRpcException) as caught:
        await asked
    assert caught.value.code == types.LSPErrorCodes.RequestCancelled
    await idle(editor)
    written = len(editor.deltas)
    wish = editor.arguments(uri, FUNCTION, instruction=WISH)
    await editor.command("copydraft.edit", wish)
    assert editor.texts[uri] == await plainly_edited(model, TEXT, FUNCTION, WISH)
    assert len(editor.deltas) == written


async def test_a_diagnostic_is_fixed_by_the_edit_that_its_text_asks_for(
    editor: Editor, model: str
) -> None:
    uri = editor.open(TEXT)
    line = types.Range(types.Position(1, 4), types.Position(1, 25))
    problem = types.Diagnostic(line, "An area is a product: multiply")
    (fix,) = await editor.actions(uri, line, problem, only=["quickfix"])
    assert fix["title"] == "Fix with copydraft: An area is a product: multiply"
    await editor.command(fix["command"]["command"], *fix["command"]["arguments"])
    instruction = "Fix this problem in line 2 of the region: An area is a product: multiply"
    assert editor.texts[uri] == await plainly_edited(model, TEXT, FUNCTION, instruction) != TEXT


async def test_status_tells_the_model_its_device_and_what_drafting_brought(
    editor: Editor, model: str
) -> None:
    uri = editor.open(TEXT)
    asked = editor.arguments(uri, FUNCTION, instruction=WISH)
    await editor.command("copydraft.edit", asked)
    status = await idle(editor)
    loaded = status["daemon"]["model"]
    assert (loaded["path"], loaded["device"], loaded["completes"]) == (model, "CPU", True)
    assert status["completion"] == "on"
    assert status["daemon"]["tokens_per_s"] > 0
    assert 0 < status["daemon"]["acceptance"] <= 1
