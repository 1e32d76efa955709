"""Sessions with the real server: settings, lost documents, progress, cancelling, the end."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import signal

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from copydraft import __version__
from tests.fixtures.daemons import Running, daemon_process, until
from tests.fixtures.editor import Asked, Editor, editing

EDIT, EXPLAIN = "copydraft.edit", "copydraft.explain"
TEXT = "a = 1\nb = 1\n"


async def holding(editor: Editor, daemon: Running, **more: str) -> Asked:
    """An explanation that is being written and will not end by itself."""
    uri = editor.open(TEXT)
    before = len(daemon.service.tickets)
    token = more.pop("token", None)
    asked = editor.ask(EXPLAIN, editor.arguments(uri, (0, 1), question="hold", **more), token=token)
    await until(lambda: len(daemon.service.tickets) > before)
    return asked


async def answered_cancelled(asked: Asked, daemon: Running) -> None:
    with pytest.raises(JsonRpcException) as caught:
        await asked
    assert caught.value.code == types.LSPErrorCodes.RequestCancelled
    await until(lambda: daemon.service.outcomes == ["cancelled"])


# --- explanations -------------------------------------------------------------------------------


async def test_an_explanation_is_the_commands_result_and_streams(editor: Editor) -> None:
    uri = editor.open(TEXT)
    answer = await editor.command(
        EXPLAIN, editor.arguments(uri, (0, 1), question="echo it adds", id="q")
    )
    assert answer["text"] == "it adds"
    last = editor.deltas[-1]
    assert (last.id, last.kind, last.text, last.hunks) == ("q", "explain", "itadds", [])
    assert editor.messages == []


async def test_it_is_shown_where_the_client_would_not(editor: Editor) -> None:
    uri = editor.open(TEXT)
    await editor.command(EXPLAIN, editor.arguments(uri, (0, 1), question="echo it adds", show=True))
    assert editor.messages == ["it adds"]


# --- cancelling ---------------------------------------------------------------------------------


async def test_a_cancelled_request_is_answered_so_and_the_daemon_idle(
    editor: Editor, daemon: Running
) -> None:
    asked = await holding(editor, daemon)
    asked.cancel()
    await answered_cancelled(asked, daemon)


async def test_a_progress_bar_cancels_its_request(editor: Editor, daemon: Running) -> None:
    editor.progress["bar"] = []
    asked = await holding(editor, daemon, token="bar")
    editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams("bar"))
    await answered_cancelled(asked, daemon)
    assert editor.progress["bar"][-1] == types.WorkDoneProgressEnd(message="cancelled")


async def test_the_cancel_command_names_the_request(editor: Editor, daemon: Running) -> None:
    asked = await holding(editor, daemon, id="one")
    assert await editor.command("copydraft.cancel", {"id": "two"}) == {"cancelled": 0}
    assert await editor.command("copydraft.cancel", {"id": "one"}) == {"cancelled": 1}
    await answered_cancelled(asked, daemon)


async def test_of_twenty_requests_the_one_that_is_not_cancelled_runs(
    editor: Editor, daemon: Running
) -> None:
    asked = [await holding(editor, daemon)]
    for number in range(1, 20):
        arguments = editor.arguments("file:///w/a.py", (0, 1), question=f"echo {number}")
        asked.append(editor.ask(EXPLAIN, arguments))
    for request in asked[1:13] + asked[14:] + asked[:1]:
        request.cancel()
    assert (await asked[13])["text"] == "13"
    await asyncio.wait([request.answer for request in asked])
    assert sum(request.answer.exception() is None for request in asked) == 1


async def test_two_requests_cannot_have_one_name(editor: Editor, daemon: Running) -> None:
    await holding(editor, daemon, id="one")
    again = editor.arguments("file:///w/a.py", (0, 1), id="one")
    with pytest.raises(JsonRpcException, match="a request 'one' is running already"):
        await editor.command(EXPLAIN, again)
    await editor.command("copydraft.cancel")


async def test_two_editors_may_give_their_requests_one_name(
    editor: Editor, daemon: Running
) -> None:
    held = await holding(editor, daemon, id="one")
    await until(lambda: bool(editor.deltas))
    async with editing() as other:
        asked = other.arguments(other.open(TEXT), (0, 1), question="echo it adds", id="one")
        answer = other.ask(EXPLAIN, asked)
        await until(lambda: len(daemon.service.tickets) == 2)
        assert await editor.command("copydraft.cancel", {"id": "one"}) == {"cancelled": 1}
        assert (await answer)["text"] == "it adds"
        assert other.deltas[-1].text == "itadds"
    await asyncio.wait([held.answer])
    assert {delta.text for delta in editor.deltas} == {"holding"}


# --- progress -----------------------------------------------------------------------------------


async def test_progress_is_shown_under_the_requests_token(editor: Editor) -> None:
    uri = editor.open(TEXT)
    editor.progress["bar"] = []
    await editor.command(EXPLAIN, editor.arguments(uri, (0, 1), question="echo a b"), token="bar")
    begin, *_, end = editor.progress["bar"]
    assert begin == types.WorkDoneProgressBegin(
        "copydraft: explain", cancellable=True, percentage=0
    )
    assert end == types.WorkDoneProgressEnd(message="20 tokens, 50.0 tokens/s, 75% copied")


async def test_without_a_token_the_server_asks_for_one(editor: Editor, daemon: Running) -> None:
    asked = await holding(editor, daemon)
    await until(lambda: any(editor.progress.values()))
    asked.cancel()
    await answered_cancelled(asked, daemon)
    ((_, *_, end),) = editor.progress.values()
    assert end == types.WorkDoneProgressEnd(message="cancelled")


# --- faults -------------------------------------------------------------------------------------


async def test_a_fault_of_the_daemons_says_what_to_do(editor: Editor) -> None:
    uri = editor.open(TEXT)
    with pytest.raises(JsonRpcException) as caught:
        await editor.command(EDIT, editor.arguments(uri, (0, 1), instruction="refuse"))
    assert caught.value.message == "the answer is empty (say more)"
    assert caught.value.data == {
        "code": "answer-refused",
        "message": "the answer is empty",
        "hint": "say more",
    }


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("copydraft.nothing", [], "copydraft has no command 'copydraft.nothing'"),
        (EDIT, [], "bad arguments of the command: .*missing required field `textDocument`"),
        (EDIT, ["x"], "bad arguments of the command: Expected `object`, got `str`"),
    ],
)
async def test_a_command_that_makes_no_sense_is_refused(
    editor: Editor, name: str, arguments: list[str], message: str
) -> None:
    with pytest.raises(JsonRpcException, match=message) as caught:
        await editor.command(name, *arguments)
    assert caught.value.code == types.ErrorCodes.InvalidParams


@pytest.mark.parametrize("params", [[1], "x", {}, {"command": 1, "arguments": 5}])
async def test_a_request_that_cannot_be_read_is_answered(editor: Editor, params: object) -> None:
    protocol = editor.client.protocol
    answer: concurrent.futures.Future[object] = concurrent.futures.Future()
    protocol._request_futures["odd"] = answer
    request = {"jsonrpc": "2.0", "id": "odd", "method": types.WORKSPACE_EXECUTE_COMMAND}
    protocol._send_data({**request, "params": params})
    with pytest.raises(JsonRpcException, match="has not the shape that LSP gives it") as caught:
        await asyncio.wrap_future(answer)
    assert caught.value.code == types.ErrorCodes.InvalidParams


async def test_a_document_that_is_not_open_is_refused(editor: Editor) -> None:
    uri = editor.open(TEXT)
    editor.close(uri)
    with pytest.raises(JsonRpcException, match="is not open"):
        await editor.command(EDIT, editor.arguments(uri, (0, 1), instruction="x"))


async def test_a_daemon_killed_in_mid_stream_is_told() -> None:
    with daemon_process() as process:
        async with editing() as editor:
            uri = editor.open(TEXT)
            asked = editor.ask(EXPLAIN, editor.arguments(uri, (0, 1), question="hold", id="q"))
            await until(lambda: bool(editor.deltas))
            process.kill()
            with pytest.raises(JsonRpcException, match="the daemon went away while it wrote"):
                await asked
        process.wait()


async def test_a_daemon_that_was_restarted_is_found_again() -> None:
    async with editing() as editor:
        uri = editor.open(TEXT)
        for _ in range(2):
            with daemon_process() as process:
                asked = editor.arguments(uri, (0, 1), question="echo here")
                assert (await editor.command(EXPLAIN, asked))["text"] == "here"
                # So that its socket is gone: the next one is waited for by its own.
                process.terminate()
                await asyncio.to_thread(process.wait)


# --- documents that were lost -------------------------------------------------------------------


async def test_a_lost_document_is_refused_until_it_is_saved(editor: Editor) -> None:
    uri = editor.open(TEXT)
    editor.client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(1, uri),
            [
                types.TextDocumentContentChangePartial(
                    types.Range(types.Position(99, 0), types.Position(99, 0)), "x"
                )
            ],
        )
    )
    arguments = editor.arguments(uri, (0, 1), instruction="echo a = 2\n")
    with pytest.raises(JsonRpcException, match="copydraft lost track of this document"):
        await editor.command(EDIT, arguments)
    assert editor.resyncs == [uri]
    editor.client.text_document_did_save(
        types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri), TEXT)
    )
    await editor.command(EDIT, arguments)
    assert editor.texts[uri] == "a = 2\nb = 1\n"


async def test_a_change_that_cannot_be_read_loses_its_document(editor: Editor) -> None:
    uri = editor.open(TEXT)
    broken = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"range": 1}]}
    editor.client.protocol._send_data(
        {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": broken}
    )
    await editor.synced()
    assert editor.resyncs == [uri]


async def test_a_change_of_a_document_that_was_never_opened_asks_for_it_once(
    editor: Editor,
) -> None:
    uri = "file:///w/unknown.py"
    editor.texts[uri], editor.versions[uri] = TEXT, 1
    editor.type(uri, (0, 0), "x")
    editor.type(uri, (0, 0), "y")
    await editor.synced()
    assert editor.resyncs == [uri]


# --- settings -----------------------------------------------------------------------------------


async def test_settings_reach_requests_and_unknown_ones_are_told(daemon: Running) -> None:
    async with editing(options={"model": "m", "modle": "n"}) as editor:
        uri = editor.open(TEXT)
        await editor.command(EXPLAIN, editor.arguments(uri, (0, 1), question="echo a"))
        changed = {"copydraft": {"strict": True}}
        editor.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams(changed)
        )
        await editor.command(EXPLAIN, editor.arguments(uri, (0, 1), question="echo a"))
        (message,) = set(editor.messages)
    first, second = (ticket.request.generation for ticket in daemon.service.tickets)
    assert (first.model, first.strict) == ("m", False)
    assert (second.model, second.strict) == ("m", True)
    assert message.startswith("copydraft has no setting 'modle'")


# --- status and the end -------------------------------------------------------------------------


async def test_status_tells_of_server_and_daemon(editor: Editor, daemon: Running) -> None:
    editor.open(TEXT)
    status = await editor.command("copydraft.status")
    assert status["version"] == __version__
    assert (status["encoding"], status["documents"], status["requests"]) == ("utf-16", 1, 0)
    assert status["daemon"]["model"]["name"] == "fake"
    assert status["problem"] is None


async def test_status_starts_no_daemon() -> None:
    async with editing() as editor:
        status = await editor.command("copydraft.status")
    assert status["daemon"] is None
    assert status["problem"].startswith("no daemon is running")


async def test_a_server_whose_editor_was_killed_ends_and_its_request_too(daemon: Running) -> None:
    async with editing(stop=False) as editor:
        await holding(editor, daemon)
        assert editor.process.stdin
        editor.process.stdin.close()
        assert await editor.process.wait() == 1
    await until(lambda: daemon.service.outcomes == ["cancelled"])


async def test_a_server_that_is_killed_leaves_the_daemon_idle(daemon: Running) -> None:
    async with editing(stop=False) as editor:
        await holding(editor, daemon)
        os.kill(editor.process.pid, signal.SIGKILL)
        await editor.process.wait()
    await until(lambda: daemon.service.outcomes == ["cancelled"])
