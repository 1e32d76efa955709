"""What the language server adds to edits and explanations, over a daemon with a real engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types

from tests.fixtures.editor import Editor, editing
from tests.fixtures.tiny_models import FILL_MIDDLE

TEXT = "def add(a, b):\n    \n\n\nprint(add(1, 2))\n"
BODY = "    total = a + b\n    return total\n\n\nprint"
EXPLANATION = "It adds two numbers, then it prints what their sum is. Nothing else happens here."


async def completed(editor: Editor, uri: str, at: tuple[int, int], *, invoked: bool) -> list[str]:
    kind = types.InlineCompletionTriggerKind
    params = types.InlineCompletionParams(
        types.InlineCompletionContext(kind.Invoked if invoked else kind.Automatic),
        types.TextDocumentIdentifier(uri),
        types.Position(*at),
    )
    answer = await editor.client.text_document_inline_completion_async(params)
    assert isinstance(answer, types.InlineCompletionList)
    return [str(item.insert_text) for item in answer.items]


async def explained(editor: Editor, **asked: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await editor.command("copydraft.explain", asked)
    return answer


async def indexed(editor: Editor) -> int:
    """Tokens of the workspace that the daemon can draft from."""
    status = await editor.command("copydraft.status")
    return sum(each["workspace_tokens"] for each in status["daemon"]["workspaces"])


async def test_a_model_that_the_user_loaded_completes_while_they_type(
    answering_model: Callable[..., Path],
) -> None:
    options = {"model": str(answering_model(BODY, after=FILL_MIDDLE))}
    async with editing(options=options) as editor:
        uri = editor.open(TEXT.replace("\n", "\r\n"))
        expected = ["total = a + b\r\n    return total"]
        assert await completed(editor, uri, (1, 4), invoked=False) == []
        assert await completed(editor, uri, (1, 4), invoked=True) == expected
        editor.type(uri, (1, 4), " ")
        editor.type(uri, (1, 4), "", (1, 5))
        assert await completed(editor, uri, (1, 4), invoked=False) == expected


async def test_a_model_that_cannot_complete_says_so(answering_model: Callable[..., Path]) -> None:
    async with editing(options={"model": str(answering_model(EXPLANATION))}) as editor:
        uri = editor.open(TEXT)
        await explained(editor, **editor.arguments(uri, (0, 2)))
        editor.type(uri, (1, 4), "x")
        assert await completed(editor, uri, (1, 5), invoked=False) == []
        status = await editor.command("copydraft.status")
    assert status["completion"].startswith("off: ")
    assert status["completion"].endswith(" has no fill-in-the-middle tokens")


async def test_what_is_typed_into_another_document_is_drafted_from(
    answering_model: Callable[..., Path], tmp_path: Path
) -> None:
    options = {"model": str(answering_model(EXPLANATION))}
    root = tmp_path / "project"
    root.mkdir()
    # Open documents are taken in at once, files by another process: later.
    (root / "c.txt").write_text("some words on the disk\n")
    async with editing(options=options, folders=[root.as_uri()]) as editor:
        uri = editor.open(TEXT)
        other = editor.open("x\n", "untitled:Untitled-1")
        editor.type(other, (0, 1), EXPLANATION)
        await editor.command("copydraft.prepare", editor.arguments(uri, (0, 2), kind="explain"))
        while not await indexed(editor):
            await asyncio.sleep(0.05)
        answer = await explained(editor, **editor.arguments(uri, (0, 2)))
    assert answer["text"] == EXPLANATION
    assert answer["stats"]["accepted"]["workspace"] > 0


async def test_a_warm_up_leaves_little_to_read(answering_model: Callable[..., Path]) -> None:
    model = str(answering_model("\nx = 1\n```", after="```python"))
    async with editing(options={"model": model}) as editor:
        uri = editor.open("y = 2\n" * 40)
        warm = await editor.command("copydraft.prepare", editor.arguments(uri, (3, 4)))
        asked = editor.arguments(uri, (3, 4), instruction="be x", apply=False)
        stats = (await editor.command("copydraft.edit", asked))["stats"]
    assert warm["promptTokens"] > 100
    assert stats["reused_tokens"] >= warm["promptTokens"]


async def test_a_follow_up_question_reads_only_what_is_new(
    answering_model: Callable[..., Path],
) -> None:
    async with editing(options={"model": str(answering_model(EXPLANATION))}) as editor:
        uri = editor.open(TEXT)
        first = await explained(editor, **editor.arguments(uri, (0, 2)))
        second = await explained(editor, session=first["session"], question="and then?")
    assert second["text"] == EXPLANATION
    assert second["stats"]["prompt_tokens"] > first["stats"]["prompt_tokens"]
    assert second["stats"]["reused_tokens"] > first["stats"]["prompt_tokens"] / 2


async def test_an_edit_ends_a_warm_up_and_is_answered(answering_model: Callable[..., Path]) -> None:
    model = str(answering_model("\nx = 1\n```", after="```python"))
    async with editing(options={"model": model}) as editor:
        uri = editor.open("y = 2\n")
        warm = editor.ask("copydraft.prepare", editor.arguments(uri, (0, 1)))
        await editor.command("copydraft.edit", editor.arguments(uri, (0, 1), instruction="be x"))
        await asyncio.wait([warm.answer])
        assert editor.texts[uri] == "x = 1\n"
