"""Documents however their editor spells them, and places wherever it says they are."""

from __future__ import annotations

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.fixtures.daemons import Running
from tests.fixtures.editor import Editor

EDIT = "copydraft.edit"
TEXT = "a = 1\nb = 1\n"
FAR = 2**31 - 1
"""The largest number that LSP has for a line or a character."""


async def test_two_buffers_without_a_name_are_not_taken_for_one(
    editor: Editor, daemon: Running
) -> None:
    editor.open(TEXT, "file://")
    uri = editor.open("other\n", "file://")
    with pytest.raises(JsonRpcException) as caught:
        await editor.command(EDIT, editor.arguments(uri, (0, 1), instruction="echo a = 2\n"))
    assert caught.value.message == (
        "several buffers have no name (give this one a name by saving it)"
    )
    assert (daemon.service.tickets, editor.applied) == ([], [])


async def test_of_two_untitled_buffers_the_one_asked_for_is_edited(editor: Editor) -> None:
    first = editor.open(TEXT, "untitled:Untitled-1")
    second = editor.open(TEXT, "untitled:Untitled-2")
    await editor.command(EDIT, editor.arguments(first, (0, 1), instruction="echo a = 2\n"))
    assert (editor.texts[first], editor.texts[second]) == ("a = 2\nb = 1\n", TEXT)


async def test_a_document_is_one_however_its_drive_is_spelled(editor: Editor) -> None:
    uri = editor.open(TEXT, "file:///c%3A/w/a.py")
    start = types.Position(0, 0)
    editor.client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(2, "file:///C:/w/a.py"),
            [types.TextDocumentContentChangePartial(types.Range(start, start), "import x\n")],
        )
    )
    asked = editor.arguments(uri, (2, 3), instruction="echo b = 2\n", apply=False)
    asked["textDocument"] = {"uri": "file:///c:/w/a.py", "version": 2}
    (change,) = (await editor.command(EDIT, asked))["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": "file:///c%3A/w/a.py", "version": 2}
    assert [edit["range"]["start"] for edit in change["edits"]] == [{"line": 2, "character": 4}]
    assert editor.resyncs == []


async def test_a_selection_that_goes_on_behind_the_text_ends_with_it(
    editor: Editor, daemon: Running
) -> None:
    uri = editor.open(TEXT)
    await editor.command(EDIT, editor.arguments(uri, (1, FAR), instruction="echo b = 2\n"))
    region = daemon.service.tickets[0].request.region
    assert (region.start, region.end) == (1, 2)
    assert editor.texts[uri] == "a = 1\nb = 2\n"


@pytest.mark.parametrize(
    ("at", "expected"), [((0, FAR), (0, 13)), ((FAR, FAR), (1, 0))], ids=["the line", "the text"]
)
async def test_a_completion_behind_the_text_is_at_its_end(
    editor: Editor, daemon: Running, at: tuple[int, int], expected: tuple[int, int]
) -> None:
    uri = editor.open("😀 # echo xyz\n")
    params = types.InlineCompletionParams(
        types.InlineCompletionContext(types.InlineCompletionTriggerKind.Invoked),
        types.TextDocumentIdentifier(uri),
        types.Position(*at),
    )
    answer = await editor.client.text_document_inline_completion_async(params)
    assert isinstance(answer, types.InlineCompletionList)
    end = types.Position(*expected)
    assert [item.range for item in answer.items] == [types.Range(end, end)]


async def test_a_change_behind_the_text_does_not_end_the_server(editor: Editor) -> None:
    uri = editor.open(TEXT)
    editor.type(uri, (FAR, FAR), "x", (FAR, FAR))
    editor.type(uri, (0, FAR), "y", (0, FAR))
    assert (await editor.command("copydraft.status"))["documents"] == 1
    assert editor.resyncs == [uri]
