"""OpenAI's API on the daemon's socket: the shapes of its answers, its faults, its cancelling."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from copydraft import paths
from copydraft.api import bodies, stream
from copydraft.models import catalog, library
from copydraft.protocol import ChatRequest, CompleteRequest, Delta, Failed, Loading, Prefill
from tests.fixtures.daemons import Running, running, until
from tests.fixtures.fake_service import MODEL
from tests.fixtures.openai_stream import frames, pinned

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
}
COPYDRAFT = {"copied_tokens": 15, "passes": 5, "tokens_per_s": 50.0, "stop_reason": "end"}


@pytest.fixture
async def http(daemon: Running) -> AsyncIterator[httpx.AsyncClient]:
    async with over_socket() as client:
        yield client


def over_socket() -> httpx.AsyncClient:
    transport = httpx.AsyncHTTPTransport(uds=str(paths.socket_path()), verify=False)
    return httpx.AsyncClient(transport=transport, base_url="http://copydraft")


def say(words: str, **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": words}]} | fields


async def streamed(http: httpx.AsyncClient, path: str, asked: dict[str, Any]) -> list[Any]:
    async with http.stream("POST", path, json=asked | {"stream": True}) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        return [frame async for frame in frames(response)]


def failure(response: httpx.Response) -> tuple[int, Any]:
    assert response.headers["content-type"] == "application/json"
    assert list(response.json()) == ["error"]
    return response.status_code, response.json()["error"]


# --- answers ----------------------------------------------------------------------------------


async def test_a_chat_is_answered_in_the_shape_of_openai(http: httpx.AsyncClient) -> None:
    answer = (await http.post(CHAT, json=say("echo a b"))).json()
    assert pinned(answer) == {
        "object": "chat.completion",
        "model": "fake",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "a b", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": USAGE,
        "copydraft": COPYDRAFT,
    }


async def test_a_call_alone_has_no_content(http: httpx.AsyncClient) -> None:
    answer = (await http.post(CHAT, json=say('call read {"path": "a"}'))).json()
    assert answer["choices"] == [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "tool_calls": [
                    {
                        "id": "call-1",
                        "type": "function",
                        "function": {"name": "read", "arguments": '{"path": "a"}'},
                    }
                ],
            },
            "logprobs": None,
            "finish_reason": "tool_calls",
        }
    ]


async def test_a_call_may_stand_beside_content(http: httpx.AsyncClient) -> None:
    answer = (await http.post(CHAT, json=say("both read {}"))).json()
    [choice] = answer["choices"]
    assert choice["message"]["content"] == "word more"
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "read"
    assert choice["finish_reason"] == "tool_calls"


async def test_an_answer_that_was_cut_off_says_so(http: httpx.AsyncClient) -> None:
    answer = (await http.post(CHAT, json=say("echo a b", max_tokens=2))).json()
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["copydraft"]["stop_reason"] == "length"


async def test_what_a_prediction_brought_is_part_of_the_usage(http: httpx.AsyncClient) -> None:
    prediction = {"type": "content", "content": "one two three"}
    answer = (await http.post(CHAT, json=say("echo a", prediction=prediction))).json()
    assert answer["usage"]["completion_tokens_details"] == {
        "accepted_prediction_tokens": 2,
        "rejected_prediction_tokens": 1,
    }


async def test_the_request_reaches_the_service_with_its_caller(
    daemon: Running, http: httpx.AsyncClient
) -> None:
    headers = {"User-Agent": "Cline/3.1", "X-Copydraft-Workspace": "/src/one"}
    await http.post(CHAT, json=say("echo a", model="m"), headers=headers)
    [ticket] = daemon.service.tickets
    assert isinstance(ticket.request, ChatRequest)
    generation = ticket.request.generation
    assert (generation.model, generation.agent, generation.workspace) == ("m", "Cline", "/src/one")


async def test_a_completion_is_what_belongs_between_prompt_and_suffix(
    daemon: Running, http: httpx.AsyncClient
) -> None:
    asked = {"prompt": "a = 1  # echo done", "suffix": "\nb"}
    answer = (await http.post(COMPLETIONS, json=asked)).json()
    assert pinned(answer) == {
        "object": "text_completion",
        "model": "fake",
        "choices": [{"index": 0, "text": "done", "logprobs": None, "finish_reason": "stop"}],
        "usage": USAGE,
        "copydraft": COPYDRAFT | {"stop_reason": "format"},
    }
    request = daemon.service.tickets[0].request
    assert request == CompleteRequest(
        path="", text="a = 1  # echo done\nb", offset=18, generation=request.generation
    )


# --- streams ----------------------------------------------------------------------------------


def chunk(choices: list[Any], **fields: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "model": "fake", "choices": choices} | fields


def part(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return chunk([choice])


async def test_a_chat_streams_role_content_end_and_done(http: httpx.AsyncClient) -> None:
    *chunks, done = await streamed(http, CHAT, say("echo a b"))
    assert [pinned(each) for each in chunks] == [
        part({"role": "assistant", "content": ""}),
        part({"content": "a"}),
        part({"content": " b"}),
        part({}, "stop"),
    ]
    assert done == "[DONE]"
    assert len({each["id"] for each in chunks}) == 1


async def test_a_call_is_one_delta_with_all_its_arguments(http: httpx.AsyncClient) -> None:
    *chunks, done = await streamed(http, CHAT, say('both read {"path": "a"}'))
    call = {
        "index": 0,
        "id": "call-1",
        "type": "function",
        "function": {"name": "read", "arguments": '{"path": "a"}'},
    }
    assert [pinned(each) for each in chunks] == [
        part({"role": "assistant", "content": ""}),
        part({"content": "word"}),
        part({"content": " more"}),
        part({"tool_calls": [call]}),
        part({}, "tool_calls"),
    ]
    assert done == "[DONE]"


async def test_the_usage_is_a_chunk_of_its_own_where_it_is_wanted(http: httpx.AsyncClient) -> None:
    asked = say("echo a", stream_options={"include_usage": True})
    *chunks, done = await streamed(http, CHAT, asked)
    assert [pinned(each) for each in chunks] == [
        part({"role": "assistant", "content": ""}) | {"usage": None},
        part({"content": "a"}) | {"usage": None},
        part({}, "stop") | {"usage": None},
        chunk([], usage=USAGE, copydraft=COPYDRAFT),
    ]
    assert done == "[DONE]"


async def test_a_completion_streams_as_one_chunk(http: httpx.AsyncClient) -> None:
    asked = {"prompt": "#echo a b", "stream_options": {"include_usage": True}}
    text, usage, done = await streamed(http, COMPLETIONS, asked)
    fields = {"object": "text_completion", "model": "fake"}
    choice = {"index": 0, "text": "a b", "logprobs": None, "finish_reason": "stop"}
    assert pinned(text) == fields | {"choices": [choice], "usage": None}
    costs = {"usage": USAGE, "copydraft": COPYDRAFT | {"stop_reason": "format"}}
    assert pinned(usage) == fields | {"choices": []} | costs
    assert done == "[DONE]"


async def test_a_completion_without_its_usage_is_one_chunk(http: httpx.AsyncClient) -> None:
    text, done = await streamed(http, COMPLETIONS, {"prompt": "#echo a"})
    assert text["choices"][0]["text"] == "a"
    assert "usage" not in text
    assert done == "[DONE]"


async def test_a_silent_stream_begins_and_carries_signs_of_life(
    http: httpx.AsyncClient, daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model may be loaded for minutes before there is anything to send."""
    monkeypatch.setattr(stream, "KEEP_ALIVE_S", 0.01)
    daemon.service.silent = True
    async with http.stream("POST", CHAT, json=say("hold", stream=True)) as response:
        lines = response.aiter_lines()
        assert json.loads((await anext(lines)).removeprefix("data: "))["choices"][0]["delta"] == {
            "role": "assistant",
            "content": "",
        }
        while await anext(lines) != ": still here":
            pass


async def test_a_stream_begins_while_a_model_is_loaded_however_often_that_is_told(
    http: httpx.AsyncClient, daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "KEEP_ALIVE_S", 0.1)
    daemon.service.silent = True

    async def load() -> None:
        await until(lambda: daemon.service.snapshot().active == 1)
        while True:
            daemon.service.tickets[0].emit(Loading(model="fake", share=0.5))
            await asyncio.sleep(0.01)

    loading = asyncio.create_task(load())
    async with http.stream("POST", CHAT, json=say("hold", stream=True)) as response:
        assert response.status_code == 200
    loading.cancel()


async def test_until_a_model_answers_the_one_that_was_asked_for_is_named(
    http: httpx.AsyncClient, daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is loaded then may be another, which others use."""
    monkeypatch.setattr(stream, "KEEP_ALIVE_S", 0.01)
    daemon.service.silent = True
    for asked, shown in (("", "qwen2.5-coder-1.5b"), ("qwen3.5-9b", "qwen3.5-9b")):
        body = say("hold", model=asked, stream=True)
        async with http.stream("POST", CHAT, json=body) as response:
            read = frames(response)
            assert (await anext(read))["model"] == shown
            ticket = daemon.service.tickets[-1]
            ticket.emit(Delta(text="a", spans=[], tokens=1))
            assert (await anext(read))["model"] == "fake"


async def test_progress_is_a_sign_of_life(http: httpx.AsyncClient, daemon: Running) -> None:
    daemon.service.silent = True
    asking = asyncio.create_task(http.post(CHAT, json=say("hold", stream=True)))
    await until(lambda: daemon.service.snapshot().active == 1)
    ticket = daemon.service.tickets[0]
    for event in (Prefill(done=1, total=2, reused=0), Loading(model="fake", share=0.5)):
        ticket.emit(event)
    ticket.cancel()
    text = (await asking).text
    assert text.count(": still here\n\n") == 2
    assert json.loads(text.rpartition("data: ")[2])["error"]["code"] == "cancelled"


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


# --- models -----------------------------------------------------------------------------------


def pull(name: str) -> Path:
    path = library.path_of(catalog.MODELS[name])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    os.utime(path, (1_000, 1_000))
    return path


def listed(name: str, context: int | None = 8192) -> dict[str, Any]:
    model = {"id": name, "object": "model", "created": 1000, "owned_by": "copydraft"}
    return model | ({} if context is None else {"context": context})


async def test_without_a_model_the_list_is_empty(http: httpx.AsyncClient) -> None:
    assert (await http.get("/v1/models")).json() == {"object": "list", "data": []}


async def test_downloaded_models_are_listed_the_default_first(http: httpx.AsyncClient) -> None:
    for name in ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "qwen3.5-4b"):
        pull(name)
    assert (await http.get("/v1/models")).json() == {
        "object": "list",
        "data": [
            listed("qwen2.5-coder-1.5b"),
            listed("qwen2.5-coder-0.5b"),
            listed("qwen3.5-4b"),
        ],
    }


async def test_the_context_of_the_loaded_model_is_the_one_it_has(
    http: httpx.AsyncClient, daemon: Running
) -> None:
    path = pull("qwen2.5-coder-1.5b")
    daemon.service.model = msgspec.structs.replace(MODEL, path=str(path))
    assert (await http.get("/v1/models")).json()["data"] == [listed("qwen2.5-coder-1.5b", 1024)]


async def test_a_model_chosen_by_its_path_is_listed_by_it(tmp_path: Path) -> None:
    pull("qwen2.5-coder-0.5b")
    path = tmp_path / "own.gguf"
    path.write_bytes(b"")
    os.utime(path, (1_000, 1_000))
    async with running(model=str(path)), over_socket() as http:
        assert (await http.get("/v1/models")).json()["data"] == [
            listed(str(path), None),
            listed("qwen2.5-coder-0.5b"),
        ]
        assert (await http.get(f"/v1/models/{path}")).json() == listed(str(path), None)


async def test_one_model_is_told_by_its_name(http: httpx.AsyncClient) -> None:
    pull("qwen2.5-coder-0.5b")
    found = (await http.get("/v1/models/Qwen2.5-Coder-0.5B")).json()
    assert found == listed("qwen2.5-coder-0.5b")


@pytest.mark.parametrize("name", ["gpt-4o", "owner/name", "qwen2.5-coder-1.5b"])
async def test_a_model_that_is_not_here_is_not_found(http: httpx.AsyncClient, name: str) -> None:
    assert failure(await http.get(f"/v1/models/{name}")) == (
        404,
        {
            "message": f"there is no model {name} here; `copydraft model list` shows all",
            "type": "invalid_request_error",
            "param": None,
            "code": "model_not_found",
        },
    )


# --- the last answer --------------------------------------------------------------------------


async def test_the_statistics_page_shows_all_that_was_written(http: httpx.AsyncClient) -> None:
    await http.post(CHAT, json=say("echo a"))
    last = (await http.get("/v1/last")).json()
    assert (last["kind"], last["path"], last["text"]) == ("chat", "", "<think>…</think>a")
    await http.post(COMPLETIONS, json={"prompt": "#echo b"})
    assert (await http.get("/v1/last")).json()["text"] == "<think>…</think>a"
