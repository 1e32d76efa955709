"""Warm-ups, and questions that go on where an explanation ended."""

from __future__ import annotations

import asyncio

import pytest
from pygls.exceptions import JsonRpcException

from copydraft.protocol import ExplainRequest, PrepareRequest, Turn
from tests.fixtures.daemons import Running, until
from tests.fixtures.editor import Editor, editing

EXPLAIN, PREPARE = "copydraft.explain", "copydraft.prepare"
TEXT = "a = 1\nb = 1\n"


async def test_a_question_goes_on_about_the_lines_as_they_were(
    editor: Editor, daemon: Running
) -> None:
    uri = editor.open(TEXT)
    first = await editor.command(EXPLAIN, editor.arguments(uri, (0, 1), question="echo it adds"))
    editor.type(uri, (0, 0), "changed")
    editor.close(uri)
    second = await editor.command(
        EXPLAIN, {"session": first["session"], "question": "echo as I said", "id": "q"}
    )
    third = await editor.command(EXPLAIN, {"session": first["session"], "question": "echo yes"})
    assert first["session"] == second["session"] == third["session"]
    assert editor.deltas[-1].uri == uri
    requests = [ticket.request for ticket in daemon.service.tickets]
    assert all(isinstance(each, ExplainRequest) and each.region.text == TEXT for each in requests)
    assert requests[1].turns == [Turn(question="echo it adds", answer="it adds")]
    assert requests[2].turns == [
        Turn(question="echo it adds", answer="it adds"),
        Turn(question="echo as I said", answer="as I said"),
    ]


async def test_an_explanation_goes_on_when_its_document_is_closed_or_renamed(
    editor: Editor, daemon: Running
) -> None:
    uri = editor.open("# hold\n")
    warm = editor.ask(PREPARE, editor.arguments(uri, (0, 1)))
    await until(lambda: len(daemon.service.tickets) == 1)
    asked = editor.ask(EXPLAIN, editor.arguments(uri, (0, 1), question="echo it holds"))
    await until(lambda: len(daemon.service.tickets) == 2)
    editor.close(uri)
    editor.open("# hold\n", "file:///w/renamed.py")
    await editor.synced()
    warm.cancel()
    assert (await asked)["text"] == "it holds"
    await asyncio.wait([warm.answer])


async def test_two_explanations_are_two_conversations(editor: Editor, daemon: Running) -> None:
    uri = editor.open(TEXT)
    asked = editor.arguments(uri, (0, 1), question="echo x")
    one, two = [(await editor.command(EXPLAIN, asked))["session"] for _ in range(2)]
    assert one != two
    await editor.command(EXPLAIN, {"session": two, "question": "echo y"})
    assert len(daemon.service.tickets[-1].request.turns) == 1


async def test_the_sixteen_latest_conversations_are_kept(editor: Editor) -> None:
    uri = editor.open(TEXT)
    asked = editor.arguments(uri, (0, 1), question="echo x")
    sessions = [(await editor.command(EXPLAIN, asked))["session"] for _ in range(17)]
    await editor.command(EXPLAIN, {"session": sessions[1], "question": "echo y"})
    with pytest.raises(JsonRpcException, match="cannot be asked on about any more"):
        await editor.command(EXPLAIN, {"session": sessions[0], "question": "echo y"})


async def test_an_explanation_of_nothing_is_refused(editor: Editor) -> None:
    with pytest.raises(JsonRpcException, match="neither lines nor a session to explain"):
        await editor.command(EXPLAIN, {"question": "echo x"})


async def test_a_warm_up_has_the_lines_read_as_an_edit_will_send_them(daemon: Running) -> None:
    async with editing(folders=["file:///w"], options={"contextTokens": 99}) as editor:
        uri = editor.open(TEXT)
        answer = await editor.command(PREPARE, editor.arguments(uri, (0, 1)))
        await editor.command("copydraft.edit", editor.arguments(uri, (0, 1), instruction="echo x"))
    assert answer == {"promptTokens": 100, "reused": 40}
    warm, edit = (ticket.request for ticket in daemon.service.tickets)
    assert isinstance(warm, PrepareRequest)
    assert (warm.kind, warm.format, warm.region, warm.generation) == (
        "edit",
        edit.format,
        edit.region,
        edit.generation,
    )
    assert warm.generation.file_context == 99


async def test_a_warm_up_is_cancelled_by_the_next_and_by_its_client(
    editor: Editor, daemon: Running
) -> None:
    uri = editor.open("# hold\nb\n")
    first = editor.ask(PREPARE, editor.arguments(uri, (0, 1)))
    await until(lambda: len(daemon.service.tickets) == 1)
    second = editor.ask(PREPARE, editor.arguments(uri, (0, 1), kind="explain"))
    with pytest.raises(JsonRpcException):
        await first
    await until(lambda: len(daemon.service.tickets) == 2)
    second.cancel()
    with pytest.raises(JsonRpcException):
        await second
    await until(lambda: daemon.service.outcomes == ["cancelled", "cancelled"])


async def test_a_warm_up_that_fails_is_no_fault(editor: Editor) -> None:
    uri = editor.open("# refuse\n")
    assert await editor.command(PREPARE, editor.arguments(uri, (0, 1))) is None
    assert editor.messages == []
    assert editor.log == ["not prepared: the answer is empty (say more)"]
