"""OpenAI's API on the daemon's socket: the shapes of its answers, whole and streamed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from copydraft.api import stream
from copydraft.protocol import ChatRequest, CompleteRequest, Delta, Loading, Prefill
from tests.fixtures.daemons import Running, until
from tests.fixtures.openai_api import (
    CHAT,
    COMPLETIONS,
    frames,
    pinned,
    say,
    streamed,
)

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
}
COPYDRAFT = {"copied_tokens": 15, "passes": 5, "tokens_per_s": 50.0, "stop_reason": "end"}


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


# --- the last answer --------------------------------------------------------------------------


async def test_the_statistics_page_shows_all_that_was_written(http: httpx.AsyncClient) -> None:
    await http.post(CHAT, json=say("echo a"))
    last = (await http.get("/v1/last")).json()
    assert (last["kind"], last["path"], last["text"]) == ("chat", "", "<think>…</think>a")
    await http.post(COMPLETIONS, json={"prompt": "#echo b"})
    assert (await http.get("/v1/last")).json()["text"] == "<think>…</think>a"
