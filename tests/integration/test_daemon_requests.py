"""Requests over a real socket: their answers, their faults, and their cancelling."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx
import pytest

from copydraft import paths, protocol
from copydraft.api import bodies, stream
from copydraft.client import Client
from copydraft.errors import AnswerRefused, BadRequest, CopydraftError
from copydraft.protocol import (
    ChatMessage,
    ChatRequest,
    ChatResult,
    CompleteRequest,
    CompleteResult,
    Delta,
    DocumentChanged,
    DocumentClosed,
    DocumentOpened,
    DocumentUpdates,
    EditResult,
    Event,
    ExplainRequest,
    ExplainResult,
    Failed,
    Prepared,
    PrepareRequest,
    Queued,
    TextChange,
)
from tests.fixtures.daemons import Running, edit, until
from tests.fixtures.fake_service import FLOOD_TEXT, MODEL, stats


@pytest.fixture
async def http(daemon: Running) -> AsyncIterator[httpx.AsyncClient]:
    """Plain HTTP, without our client's manners."""
    transport = httpx.AsyncHTTPTransport(uds=str(paths.socket_path()), verify=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://copydraft") as client:
        yield client


def failure(response: httpx.Response) -> tuple[int, str, str]:
    event = protocol.decode_event(response.content)
    assert isinstance(event, Failed)
    return response.status_code, event.code, event.message


async def begin(client: Client, instruction: str) -> asyncio.Task[list[Event]]:
    async def collect() -> list[Event]:
        return [event async for event in client.edit(edit(instruction))]

    return asyncio.create_task(collect())


# --- answers ---


async def test_an_edit_streams_its_events_in_order(client: Client) -> None:
    events = [event async for event in client.edit(edit("echo a b"))]
    assert [type(event) for event in events] == [Queued, Delta, Delta, EditResult]
    assert events[-1].text == "a b"  # type: ignore[union-attr]  # the line above says so


async def test_an_explanation_ends_with_its_result(client: Client) -> None:
    request = ExplainRequest(region=edit("").region, question="echo why")
    events = [event async for event in client.explain(request)]
    assert isinstance(events[-1], ExplainResult)


async def test_a_completion_ends_with_its_result(client: Client) -> None:
    text = "a = 1  # echo done"
    request = CompleteRequest(path="a.py", text=text, offset=len(text))
    events = [event async for event in client.complete(request)]
    assert [type(event) for event in events] == [Queued, Delta, CompleteResult]


async def test_the_next_message_of_a_chat_ends_with_its_result(client: Client) -> None:
    request = ChatRequest(messages=[ChatMessage(role="user", content="echo a")])
    events = [event async for event in client.chat(request)]
    assert isinstance(events[-1], ChatResult)


async def test_what_is_prepared_ends_with_how_much_was_read(client: Client) -> None:
    request = PrepareRequest(region=edit("").region, kind="edit")
    events = [event async for event in client.prepare(request)]
    assert events[-1] == Prepared(prompt_tokens=100, reused=40)


async def test_text_of_any_script_arrives_unchanged(client: Client) -> None:
    text = "μ😀\u2028\u0085e\u0301\\n\x00"
    events = [event async for event in client.edit(edit(f"echo {text}"))]
    assert [event.text for event in events if isinstance(event, Delta)] == [text]


async def test_two_clients_at_once_are_both_served(daemon: Running, client: Client) -> None:
    async with await Client.connect(start=False) as second:
        answers = await asyncio.gather(
            await begin(client, "echo first"), await begin(second, "echo second")
        )
    assert sorted(events[-1].text for events in answers) == ["first", "second"]  # type: ignore[union-attr]  # results end both


async def test_a_fault_of_the_request_reaches_the_caller_as_it_was_raised(client: Client) -> None:
    with pytest.raises(AnswerRefused, match="the answer is empty") as caught:
        await (await begin(client, "refuse"))
    assert caught.value.hint == "say more"


async def test_a_bug_is_told_with_the_place_of_its_traceback(client: Client) -> None:
    with pytest.raises(CopydraftError, match="a fault of its own: ValueError") as caught:
        await (await begin(client, "bug"))
    assert caught.value.code == "internal"
    assert str(paths.log_file()) in caught.value.hint


async def test_a_silent_stream_carries_signs_of_life(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "KEEP_ALIVE_S", 0.01)
    body = protocol.encode(edit("hold"))
    async with http.stream("POST", "/v1/edit", content=body) as response:
        lines = response.aiter_lines()
        while await anext(lines) != ": still here":
            pass


async def test_a_slow_reader_holds_up_neither_the_engine_nor_others(
    daemon: Running, client: Client
) -> None:
    body = protocol.encode(edit("flood 500"))
    reader, writer = await asyncio.open_unix_connection(paths.socket_path(), limit=1024)
    head = f"POST /v1/edit HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await until(lambda: daemon.service.outcomes == ["answered"])

    assert len(await (await begin(client, "echo quick"))) == 3

    received = bytearray()
    while not received.endswith(b"0\r\n\r\n"):
        received += await reader.read(65536)
    assert received.count(FLOOD_TEXT.encode()) == 500
    writer.close()


# --- cancelling ---


async def test_leaving_a_running_request_cancels_it(daemon: Running, client: Client) -> None:
    async with aclosing(client.edit(edit("hold"))) as events:
        async for event in events:
            if isinstance(event, Delta):
                break
    await until(lambda: daemon.service.outcomes == ["cancelled"])
    assert len(await (await begin(client, "echo next"))) == 3


async def test_a_killed_client_cancels_its_request(daemon: Running) -> None:
    body = protocol.encode(edit("hold"))
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(paths.socket_path()))
        head = f"POST /v1/edit HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
        peer.sendall(head.encode() + body)
        await until(lambda: daemon.service.snapshot().active == 1)
    await until(lambda: daemon.service.outcomes == ["cancelled"])


async def test_of_twenty_queued_requests_nineteen_are_cancelled_and_one_runs(
    daemon: Running, client: Client
) -> None:
    blocker = await begin(client, "hold")
    await until(lambda: daemon.service.snapshot().active == 1)
    queued = [await begin(client, f"echo {number}") for number in range(20)]
    await until(lambda: daemon.service.snapshot().waiting == 20)

    for task in [*queued[:7], *queued[8:]]:
        task.cancel()
    # Each is cancelled while it waits, before the engine comes to it.
    await until(lambda: sum(1 for t in daemon.service.tickets if t.ended) == 19)
    blocker.cancel()

    assert (await queued[7])[-1].text == "7"  # type: ignore[union-attr]  # its result
    await until(lambda: len(daemon.service.outcomes) == 21)
    assert daemon.service.outcomes.count("answered") == 1
    await asyncio.gather(blocker, *queued, return_exceptions=True)


# --- status and statistics ---


async def test_documents_reach_the_service_in_order(daemon: Running, client: Client) -> None:
    sent = [
        DocumentUpdates(
            workspace="/w",
            owner=1,
            updates=[
                DocumentOpened(name="a.py", version=1, text="one"),
                DocumentChanged(
                    name="a.py", version=2, changes=[TextChange(start=0, end=1, text="O")]
                ),
            ],
        ),
        DocumentUpdates(workspace="/w", owner=1, updates=[DocumentClosed(name="a.py")]),
    ]
    for updates in sent:
        taken = await client.documents(updates)
        assert (taken.pid, taken.resend) == (os.getpid(), [])
    assert daemon.service.updates == sent


async def test_the_status_describes_the_daemon(daemon: Running, client: Client) -> None:
    await (await begin(client, "echo a"))
    status = await client.status()
    assert status.model == MODEL
    assert status.socket == str(paths.socket_path())
    assert (status.requests, status.active, status.waiting, status.clients) == (1, 0, 0, 1)
    assert (status.idle_unload_s, status.idle_exit_s) == (900.0, 7200.0)
    assert status.resident_bytes > 1_000_000


async def test_statistics_are_reported_and_erased(daemon: Running, client: Client) -> None:
    daemon.store.record(stats(output_tokens=30))
    assert (await client.stats()).total.output_tokens == 30
    assert (await client.stats(days=1)).total.requests == 1
    await client.clear_stats()
    assert (await client.stats()).total.requests == 0


async def test_unload_says_whether_there_was_a_model(daemon: Running, client: Client) -> None:
    assert await client.unload() is True
    assert await client.unload() is False
    assert (await client.status()).model is None


# --- bad requests ---


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not a valid EditRequest: Input data was truncated"),
        (b"\xff\xfe", "not a valid EditRequest: JSON is malformed: invalid character (byte 0)"),
        (b"[]", "not a valid EditRequest: Expected `object`, got `array`"),
        (b"{}", "not a valid EditRequest: Object missing required field `region`"),
        (
            b'{"region": {"path": "a", "text": "a", "start": "0", "end": 1}, "instruction": ""}',
            "not a valid EditRequest: Expected `int`, got `str` - at `$.region.start`",
        ),
    ],
)
async def test_a_body_of_the_wrong_shape_is_refused(
    http: httpx.AsyncClient, body: bytes, message: str
) -> None:
    response = await http.post("/v1/edit", content=body)
    assert failure(response) == (400, "bad-request", message)


@pytest.mark.parametrize(
    ("field", "value", "bound"),
    [
        ("temperature", "-0.1", ">= 0.0"),
        ("temperature", "1e308", "<= 100.0"),
        ("top_p", "-0.1", ">= 0.0"),
        ("top_p", "1.1", "<= 1.0"),
        ("min_p", "-0.1", ">= 0.0"),
        ("min_p", "1.1", "<= 1.0"),
    ],
)
async def test_a_number_out_of_its_range_is_refused_by_its_name(
    http: httpx.AsyncClient, field: str, value: str, bound: str
) -> None:
    region = '{"path": "a", "text": "a", "start": 0, "end": 1}'
    sampling = f'{{"sampling": {{"{field}": {value}}}}}'
    body = f'{{"region": {region}, "instruction": "x", "generation": {sampling}}}'
    response = await http.post("/v1/edit", content=body.encode())
    assert failure(response) == (
        400,
        "bad-request",
        f"not a valid EditRequest: Expected `float` {bound} - at `$.generation.sampling.{field}`",
    )


async def test_json_of_any_depth_is_refused(http: httpx.AsyncClient) -> None:
    response = await http.post("/v1/edit", content=b'{"unknown": ' + b"[" * 1_000_000)
    assert failure(response)[:2] == (400, "bad-request")


async def test_a_body_over_the_limit_is_refused(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "LIMIT", 1 << 20)
    response = await http.post("/v1/edit", content=b" " * ((1 << 20) + 1))
    assert failure(response) == (413, "bad-request", "the request is larger than 1 MB")


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/nonsense"), ("GET", "/v1/edit"), ("PUT", "/")]
)
async def test_an_unknown_route_is_named(http: httpx.AsyncClient, method: str, path: str) -> None:
    response = await http.request(method, path)
    assert failure(response) == (404, "bad-request", f"the daemon has no {method} {path}")


@pytest.mark.parametrize("days", ["0", "-1", "x", "99999999"])
async def test_statistics_of_no_real_number_of_days_are_refused(
    http: httpx.AsyncClient, days: str
) -> None:
    response = await http.get("/v1/stats", params={"days": days})
    assert failure(response) == (400, "bad-request", f"days is {days!r}")


async def test_bytes_that_are_no_http_do_not_disturb_the_daemon(
    daemon: Running, client: Client
) -> None:
    reader, writer = await asyncio.open_unix_connection(paths.socket_path())
    writer.write(b"\x00\xff\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 400")
    writer.close()
    assert len(await (await begin(client, "echo a"))) == 3


async def test_a_client_that_leaves_while_it_writes_does_not_disturb_the_daemon(
    daemon: Running, client: Client
) -> None:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(paths.socket_path()))
        peer.sendall(b"POST /v1/edit HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
    assert len(await (await begin(client, "echo a"))) == 3
    assert len(daemon.service.tickets) == 1


async def test_a_file_name_that_is_not_utf_8_is_refused_by_the_client(client: Client) -> None:
    with pytest.raises(BadRequest, match="characters that UTF-8 cannot express"):
        await (await begin(client, "echo \udcff"))


# --- versions ---


@pytest.mark.parametrize(
    ("theirs", "hint"),
    [
        ("0", "the client is older: update copydraft there, then restart the editor"),
        ("99", "the daemon is older: run `copydraft daemon restart`"),
    ],
)
async def test_a_client_of_another_protocol_is_told_which_side_to_renew(
    http: httpx.AsyncClient, theirs: str, hint: str
) -> None:
    response = await http.post("/v1/edit", headers={protocol.VERSION_HEADER: theirs})
    ours = protocol.PROTOCOL_VERSION
    assert failure(response) == (
        426,
        "version",
        f"this client speaks version {theirs} of the protocol, the daemon version {ours}",
    )
    assert response.json()["hint"] == hint


async def test_the_status_is_told_to_clients_of_any_protocol(http: httpx.AsyncClient) -> None:
    response = await http.get("/v1/status", headers={protocol.VERSION_HEADER: "99"})
    assert response.status_code == 200
    assert response.headers[protocol.VERSION_HEADER] == str(protocol.PROTOCOL_VERSION)
