"""OpenAI's API on the daemon's socket: what it says of faults, and clients that leave."""

from __future__ import annotations

import asyncio
import logging

import httpx
import pytest

from copydraft import paths
from copydraft.api import bodies
from copydraft.protocol import Failed
from tests.fixtures.daemons import Running, running, until
from tests.fixtures.openai_api import (
    CHAT,
    failure,
    frames,
    over_socket,
    say,
)

# --- faults -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize(
    ("code", "status", "kind", "shown"),
    [
        ("bad-request", 400, "invalid_request_error", None),
        ("context", 400, "invalid_request_error", "context_length_exceeded"),
        ("model", 404, "invalid_request_error", "model_not_found"),
        ("memory", 503, "server_error", "out_of_memory"),
        ("cancelled", 503, "server_error", "cancelled"),
        ("engine", 500, "server_error", "engine"),
    ],
)
async def test_a_fault_before_the_answer_has_the_status_and_the_code_of_openai(
    http: httpx.AsyncClient, is_streamed: bool, code: str, status: int, kind: str, shown: str | None
) -> None:
    response = await http.post(CHAT, json=say(f"fail {code}", stream=is_streamed))
    assert failure(response) == (
        status,
        {"message": "it failed; try something else", "type": kind, "param": None, "code": shown},
    )


@pytest.mark.parametrize(
    ("code", "retry"), [("memory", "false"), ("engine", "false"), ("cancelled", None)]
)
async def test_clients_are_told_not_to_ask_again_where_that_cannot_help(
    http: httpx.AsyncClient, code: str, retry: str | None
) -> None:
    response = await http.post(CHAT, json=say(f"fail {code}"))
    assert response.headers.get("x-should-retry") == retry


async def test_a_fault_amid_an_answer_ends_the_stream(
    http: httpx.AsyncClient, daemon: Running
) -> None:
    async with http.stream("POST", CHAT, json=say("hold", stream=True)) as response:
        read = frames(response)
        assert (await anext(read))["choices"][0]["delta"]["role"] == "assistant"
        assert (await anext(read))["choices"][0]["delta"] == {"content": "holding"}
        daemon.service.tickets[0].emit(Failed(code="engine", message="it broke", hint=""))
        assert [frame async for frame in read] == [
            {
                "error": {
                    "message": "it broke",
                    "type": "server_error",
                    "param": None,
                    "code": "engine",
                }
            }
        ]


async def test_a_request_that_is_none_names_what_is_wrong(http: httpx.AsyncClient) -> None:
    response = await http.post(CHAT, json=say("a", temperature="hot"))
    assert failure(response) == (
        400,
        {
            "message": "not a valid request: Expected `float | null`, got `str` "
            "- at `$.temperature`",
            "type": "invalid_request_error",
            "param": "temperature",
            "code": None,
        },
    )


async def test_a_bug_is_told_and_its_traceback_logged(
    http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    status, error = failure(await http.post(CHAT, json=say("bug")))
    assert (status, error["code"]) == (500, "internal")
    assert error["message"] == (
        f"the daemon met a fault of its own: ValueError; its traceback is in {paths.log_file()}"
    )
    [record] = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert record.exc_info
    assert str(record.exc_info[1]) == "a bug in the service"


async def test_a_body_over_the_limit_is_refused(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "LIMIT", 1 << 20)
    status, error = failure(await http.post(CHAT, content=b" " * ((1 << 20) + 1)))
    assert (status, error["message"]) == (413, "the request is larger than 1 MB")


# --- cancelling -------------------------------------------------------------------------------


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("is_silent", [False, True])
async def test_a_client_that_leaves_cancels_its_request(
    daemon: Running, http: httpx.AsyncClient, is_streamed: bool, is_silent: bool
) -> None:
    if is_silent:
        daemon.service.silent = True
    asking = asyncio.create_task(http.post(CHAT, json=say("hold", stream=is_streamed)))
    await until(lambda: daemon.service.snapshot().active == 1)
    asking.cancel()
    await until(lambda: daemon.service.outcomes == ["cancelled"])
    answer = (await http.post(CHAT, json=say("echo next"))).json()
    assert answer["choices"][0]["message"]["content"] == "next"


async def test_a_client_that_leaves_amid_a_stream_cancels_its_request(
    daemon: Running, http: httpx.AsyncClient
) -> None:
    async with http.stream("POST", CHAT, json=say("hold", stream=True)) as response:
        read = frames(response)
        [_, _] = [await anext(read), await anext(read)]
    await until(lambda: daemon.service.outcomes == ["cancelled"])


@pytest.mark.parametrize("is_deaf", [False, True])
async def test_a_stream_ends_with_the_daemon(is_deaf: bool) -> None:
    async with (
        running() as here,
        over_socket() as http,
        http.stream("POST", CHAT, json=say("hold", stream=True)) as response,
    ):
        read = frames(response)
        [_, _] = [await anext(read), await anext(read)]
        here.service.deaf = is_deaf
        here.daemon.stop()
        [ended] = [frame async for frame in read]
        here.service.deaf = False
    assert ended["error"]["message"].startswith("the daemon is stopping")
