"""Inline completion through the real server: when it answers, and what."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from copydraft.protocol import CompleteRequest, DocumentUpdates
from tests.fixtures.daemons import Running, until
from tests.fixtures.editor import Editor, editing

TEXT = "a = 1\n\nb = 1\n"
OFF = "off: fake has no fill-in-the-middle tokens"


def asking(
    editor: Editor, uri: str, at: tuple[int, int], *, invoked: bool = False
) -> asyncio.Future[Any]:
    kind = types.InlineCompletionTriggerKind
    params = types.InlineCompletionParams(
        types.InlineCompletionContext(kind.Invoked if invoked else kind.Automatic),
        types.TextDocumentIdentifier(uri),
        types.Position(*at),
    )
    return asyncio.ensure_future(editor.client.text_document_inline_completion_async(params))


async def completed(
    editor: Editor, uri: str, at: tuple[int, int], *, invoked: bool = False
) -> list[tuple[Any, Any]]:
    answer = await asking(editor, uri, at, invoked=invoked)
    assert isinstance(answer, types.InlineCompletionList)
    return [(item.insert_text, item.range) for item in answer.items]


def place(line: int, character: int) -> types.Range:
    return types.Range(types.Position(line, character), types.Position(line, character))


def names(call: DocumentUpdates) -> set[str]:
    return {update.name for update in call.updates}


async def test_what_belongs_at_the_cursor_is_one_item_there(
    editor: Editor, daemon: Running
) -> None:
    uri = editor.open("\ufeff" + TEXT)
    editor.type(uri, (1, 0), "😀# echo 2 + 2")
    assert await completed(editor, uri, (1, 14)) == [("2 + 2", place(1, 14))]
    (ticket,) = daemon.service.tickets
    assert isinstance(ticket.request, CompleteRequest)
    assert ticket.request.text[: ticket.request.offset] == "a = 1\n😀# echo 2 + 2"
    assert (ticket.request.path, ticket.request.generation.agent) == ("a.py", "Test Editor")


async def test_a_completion_names_its_document_as_the_daemon_has_it(daemon: Running) -> None:
    async with editing(folders=["file:///w"]) as editor:
        for uri in ("file:///w/src/a.py", "file:///x/a.py", "untitled:Untitled-1"):
            editor.open("# echo x\n", uri)
            await completed(editor, uri, (0, 8), invoked=True)
        await until(lambda: len(daemon.service.open.of("/w")) == 3)
    paths = [ticket.request.path for ticket in daemon.service.tickets]
    assert paths == ["src/a.py", "/x/a.py", "untitled:Untitled-1.py"]
    assert set(paths) == {name for call in daemon.service.updates for name in names(call)}


async def test_nothing_is_completed_while_the_user_only_moves(
    editor: Editor, daemon: Running
) -> None:
    uri = editor.open("# echo x\nb\nc\nd\n")
    assert await completed(editor, uri, (0, 8)) == []
    editor.type(uri, (0, 8), "y")
    assert await completed(editor, uri, (3, 1)) == []
    assert await completed(editor, uri, (0, 9)) == [("xy", place(0, 9))]
    assert await completed(editor, uri, (0, 9)) == []
    assert await completed(editor, uri, (0, 9), invoked=True) == [("xy", place(0, 9))]
    assert len(daemon.service.tickets) == 2


async def test_the_next_change_ends_it(editor: Editor, daemon: Running) -> None:
    uri = editor.open(TEXT)
    editor.type(uri, (1, 0), "# hold")
    asked = asking(editor, uri, (1, 6))
    await until(lambda: len(daemon.service.tickets) == 1)
    editor.type(uri, (1, 6), " ")
    assert not (await asked).items
    await until(lambda: daemon.service.outcomes == ["cancelled"])


async def test_closing_the_document_ends_it(editor: Editor, daemon: Running) -> None:
    uri = editor.open("# hold\n")
    asked = asking(editor, uri, (0, 6), invoked=True)
    await until(lambda: len(daemon.service.tickets) == 1)
    editor.close(uri)
    assert not (await asked).items
    await until(lambda: daemon.service.outcomes == ["cancelled"])


async def test_the_next_request_ends_it(editor: Editor, daemon: Running) -> None:
    uri = editor.open(TEXT)
    editor.type(uri, (1, 0), "# hold")
    first = asking(editor, uri, (1, 6), invoked=True)
    await until(lambda: len(daemon.service.tickets) == 1)
    assert await completed(editor, uri, (0, 0), invoked=True) == []
    assert not (await first).items


async def test_what_is_asked_in_the_middle_of_typing_reaches_no_daemon(
    editor: Editor, daemon: Running
) -> None:
    uri = editor.open(TEXT)
    asked = []
    for column, character in enumerate("# echo ab"):
        editor.type(uri, (1, column), character)
        asked.append(asking(editor, uri, (1, column + 1)))
    answers = await asyncio.gather(*asked)
    assert [len(answer.items) for answer in answers] == [0] * 8 + [1]
    assert len(daemon.service.tickets) == 1


async def test_a_cancelled_one_is_answered_so_and_the_daemon_idle(
    editor: Editor, daemon: Running
) -> None:
    uri = editor.open(TEXT)
    editor.type(uri, (1, 0), "# hold")
    params = types.InlineCompletionParams(
        types.InlineCompletionContext(types.InlineCompletionTriggerKind.Invoked),
        types.TextDocumentIdentifier(uri),
        types.Position(1, 6),
    )
    answer = editor.client.protocol.send_request(
        types.TEXT_DOCUMENT_INLINE_COMPLETION, params, msg_id="mine"
    )
    await until(lambda: len(daemon.service.tickets) == 1)
    editor.client.cancel_request(types.CancelParams("mine"))
    with pytest.raises(JsonRpcException) as caught:
        await asyncio.wrap_future(answer)
    assert caught.value.code == types.LSPErrorCodes.RequestCancelled
    await until(lambda: daemon.service.outcomes == ["cancelled"])


async def test_typing_loads_no_model_and_changes_none(daemon: Running) -> None:
    async with editing(options={"model": "another"}) as editor:
        uri = editor.open(TEXT)
        editor.type(uri, (1, 0), "# echo x")
        assert await completed(editor, uri, (1, 8)) == [("x", place(1, 8))]
        assert await completed(editor, uri, (1, 8), invoked=True) == [("x", place(1, 8))]
        models = [each.request.generation.model for each in daemon.service.tickets]
        assert models == ["/models/fake.gguf", "another"]
        daemon.service.model = None
        editor.type(uri, (1, 8), "y")
        assert await completed(editor, uri, (1, 9)) == []
        assert len(daemon.service.tickets) == 2


async def test_typing_starts_no_daemon(fake_command: None) -> None:
    async with editing() as editor:
        uri = editor.open(TEXT)
        editor.type(uri, (1, 0), "# echo x")
        assert await completed(editor, uri, (1, 8)) == []
        assert (await editor.command("copydraft.status"))["daemon"] is None


async def test_a_model_without_the_tokens_for_it_is_told_once(
    editor: Editor, daemon: Running
) -> None:
    assert daemon.service.model
    daemon.service.model = msgspec.structs.replace(daemon.service.model, completes=False)
    uri = editor.open(TEXT)
    for column in range(2):
        editor.type(uri, (1, column), "x")
        assert await completed(editor, uri, (1, column + 1)) == []
    assert editor.log.count("no completions: fake has no fill-in-the-middle tokens") == 1


async def test_the_status_says_whether_the_loaded_model_can_complete(
    editor: Editor, daemon: Running
) -> None:
    able = daemon.service.model
    assert able
    for model, expected in (
        (msgspec.structs.replace(able, completes=False), OFF),
        (able, "on"),
        (None, "on"),
    ):
        daemon.service.model = model
        assert (await editor.command("copydraft.status"))["completion"] == expected


async def test_the_status_says_that_completion_is_switched_off(daemon: Running) -> None:
    async with editing(options={"completion": False}) as editor:
        status = await editor.command("copydraft.status")
    assert status["completion"] == "off: the setting `completion` is off"


@pytest.mark.parametrize(
    "options", [{"completion": False}, {"disabledLanguages": ["python"]}, {"exclude": ["*.py"]}]
)
async def test_it_can_be_switched_off(daemon: Running, options: dict[str, Any]) -> None:
    async with editing(options=options, folders=["file:///w"]) as editor:
        uri = editor.open("# echo x\n")
        assert await completed(editor, uri, (0, 8), invoked=True) == []
    assert daemon.service.tickets == []


async def test_a_document_that_was_lost_is_not_completed_unasked(
    editor: Editor, daemon: Running
) -> None:
    uri = editor.open("# echo x\n")
    editor.client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(0, uri),
            [types.TextDocumentContentChangePartial(place(0, 8), "y")],
        )
    )
    assert await completed(editor, uri, (0, 9)) == []
    with pytest.raises(JsonRpcException, match="lost track of this document"):
        await completed(editor, uri, (0, 9), invoked=True)
