"""The port for coding agents: what it gives to those who have the key, and all that it refuses."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator

import httpx
import openai
import pytest

from copydraft import paths
from copydraft.api import api_key
from copydraft.client import Client
from copydraft.protocol import ApiStatus
from tests.fixtures.daemons import Running, running, until

HI, HOLD = ({"messages": [{"role": "user", "content": words}]} for words in ("echo a", "hold"))
CHAT = "/v1/chat/completions"


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
async def daemon(port: int) -> AsyncIterator[Running]:
    async with running(api_port=port) as here:
        async with await Client.connect(start=False) as client:
            await client.status()  # it has begun
        yield here


@pytest.fixture
async def http(daemon: Running, port: int) -> AsyncIterator[httpx.AsyncClient]:
    """With the key; no connection outlives its request."""
    async with agent(port, api_key.read()) as client:
        yield client


def agent(port: int, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}",
        headers={"Authorization": f"Bearer {key}"},
        trust_env=False,
        limits=httpx.Limits(max_keepalive_connections=0),
    )


def failure(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


# --- who is let in ----------------------------------------------------------------------------


async def test_with_the_key_a_chat_is_answered(http: httpx.AsyncClient) -> None:
    answer = (await http.post(CHAT, json=HI)).json()
    assert answer["choices"][0]["message"]["content"] == "a"


async def test_localhost_is_the_same_place(http: httpx.AsyncClient, port: int) -> None:
    headers = {"Host": f"localhost:{port}"}
    assert (await http.get("/v1/models", headers=headers)).status_code == 200


async def test_metrics_are_there_for_who_has_the_key(http: httpx.AsyncClient) -> None:
    assert "copydraft_requests_active 0.0" in (await http.get("/metrics")).text
    refused = await http.get("/metrics", headers={"Authorization": ""})
    assert failure(refused) == (401, "invalid_api_key")


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "Bearer",
        "Bearer sk-copydraft-guessed",
        "Basic {key}",
        "{key}",
        "Bearer {key}x",
        "Bearer \xe9",
    ],
)
async def test_without_the_key_nothing_is_given(
    daemon: Running, port: int, given: str | None
) -> None:
    headers = {} if given is None else {"Authorization": given.format(key=api_key.read())}
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
        for path in ("/v1/models", "/v1/nonsense", "/"):
            response = await http.get(path, headers=encoded)
            assert response.headers["www-authenticate"] == 'Bearer realm="copydraft"'
            assert failure(response) == (401, "invalid_api_key")
        response = await http.post(CHAT, json=HI, headers=encoded)
        assert failure(response) == (401, "invalid_api_key")
    assert daemon.service.tickets == []


async def test_the_key_in_another_header_is_no_key(daemon: Running, port: int) -> None:
    async with agent(port, "wrong") as http:
        response = await http.get("/v1/models", headers={"x-api-key": api_key.read()})
    assert failure(response) == (401, "invalid_api_key")


async def test_the_name_of_the_scheme_has_no_case(http: httpx.AsyncClient) -> None:
    headers = {"Authorization": f"bearer {api_key.read()}"}
    assert (await http.get("/v1/models", headers=headers)).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}", "x"])
async def test_another_host_is_refused(http: httpx.AsyncClient, port: int, host: str) -> None:
    headers = {"Host": host.format(port=port)}
    assert failure(await http.get("/v1/models", headers=headers)) == (421, "wrong_host")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
async def test_pages_of_another_origin_are_refused(http: httpx.AsyncClient, origin: str) -> None:
    headers = {"Origin": origin}
    assert failure(await http.post(CHAT, json=HI, headers=headers)) == (403, "foreign_origin")
    assert failure(await http.options(CHAT, headers=headers)) == (403, "foreign_origin")


async def test_its_own_origin_is_not_refused(http: httpx.AsyncClient, port: int) -> None:
    headers = {"Origin": f"http://127.0.0.1:{port}"}
    assert (await http.get("/v1/models", headers=headers)).status_code == 200


async def test_other_machines_cannot_reach_it(http: httpx.AsyncClient, port: int) -> None:
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.2", port)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/status"),
        ("POST", "/v1/stop"),
        ("POST", "/v1/edit"),
        ("POST", "/v1/web"),
        ("GET", "/v1/last"),
        ("GET", "/"),
        ("GET", "/v1/nonsense"),
    ],
)
async def test_no_other_route_of_the_daemon_is_there(
    http: httpx.AsyncClient, method: str, path: str
) -> None:
    response = await http.request(method, path)
    assert failure(response) == (404, "unknown_url")
    assert response.json()["error"]["message"] == f"unknown URL: {method} {path}"


async def test_a_wrong_method_is_told_which_is_right(http: httpx.AsyncClient) -> None:
    response = await http.get(CHAT)
    assert failure(response) == (405, "method_not_supported")
    assert response.headers["allow"] == "POST"


# --- its life ---------------------------------------------------------------------------------


async def test_without_the_setting_there_is_no_port_and_no_key() -> None:
    async with running(), await Client.connect(start=False) as client:
        assert (await client.status()).api == ApiStatus()
    assert not paths.api_key_file().exists()


async def test_the_status_tells_the_address(daemon: Running, port: int) -> None:
    async with await Client.connect(start=False) as client:
        status = await client.status()
    assert status.api == ApiStatus(url=f"http://127.0.0.1:{port}/v1")
    assert status.idle_exit_s is None


async def test_a_taken_port_is_told_and_the_daemon_serves_its_socket(port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        async with running(api_port=port), await Client.connect(start=False) as client:
            status = await client.status()
    assert status.api.url == ""
    assert status.api.problem.startswith(f"port {port} is taken by process {os.getpid()} (")
    assert status.api.problem.endswith(
        "); end that program, or choose another port: `copydraft api on --port N`"
    )


async def test_a_key_that_others_may_read_opens_no_port(port: int) -> None:
    api_key.ensure()
    paths.api_key_file().chmod(0o644)
    async with running(api_port=port), await Client.connect(start=False) as client:
        status = await client.status()
    assert status.api.url == ""
    assert status.api.problem == (
        f"others may read the key in {paths.api_key_file()}, or have done so; "
        "`copydraft api on --new-key` makes another"
    )


async def test_port_and_key_are_the_same_after_a_restart(port: int) -> None:
    keys = []
    for _ in range(2):
        async with running(api_port=port), await Client.connect(start=False) as client:
            await client.status()
            keys.append(api_key.read())
            async with agent(port, keys[0]) as http:
                assert (await http.get("/v1/models")).status_code == 200
    assert keys[0] == keys[1]


async def test_the_daemon_stays_for_agents_although_none_asks(port: int) -> None:
    settings = {"idle_exit_minutes": 0.0002, "idle_unload_minutes": 0.0002}
    async with running(api_port=port, **settings) as here:
        # By the time the model is unloaded, the daemon would have ended without them.
        await until(lambda: here.service.model is None)
        assert not here.serving.done()
    async with running(**settings) as here:
        await until(here.serving.done)


async def test_a_request_of_an_agents_counts_as_one_of_a_client(daemon: Running, port: int) -> None:
    gate = daemon.daemon._gate
    async with agent(port, "wrong") as http:
        before = gate._last
        await http.get("/v1/models")
        assert gate._last == before
    async with agent(port, api_key.read()) as http:
        asking = asyncio.create_task(http.post(CHAT, json=HOLD))
        await until(lambda: daemon.service.snapshot().active == 1)
        assert gate.idle_s() == 0
        assert daemon.daemon.status().clients == 1
        asking.cancel()
        await until(lambda: daemon.service.outcomes == ["cancelled"])
    await until(lambda: gate._open == 0)
    assert gate._last > before


async def test_a_stopping_daemon_takes_no_more_requests(
    daemon: Running, http: httpx.AsyncClient
) -> None:
    daemon.daemon._gate.closed = True
    assert failure(await http.post(CHAT, json=HI)) == (503, "unavailable")
    daemon.daemon._gate.closed = False


async def test_the_port_closes_with_the_daemon(port: int) -> None:
    async with running(api_port=port), await Client.connect(start=False) as client:
        await client.status()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


# --- the client of OpenAI's -------------------------------------------------------------------


@pytest.fixture
async def official(daemon: Running, port: int) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(
        base_url=f"http://127.0.0.1:{port}/v1", api_key=api_key.read(), max_retries=0
    ) as client:
        yield client


def message(words: str) -> list[openai.types.chat.ChatCompletionMessageParam]:
    return [{"role": "user", "content": words}]


async def test_openais_client_reads_an_answer(official: openai.AsyncOpenAI) -> None:
    answer = await official.chat.completions.create(
        model="",
        messages=message("echo one two"),
        prediction={"type": "content", "content": "one two three"},
    )
    assert answer.choices[0].message.content == "one two"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 40
    assert answer.usage.completion_tokens_details is not None
    assert answer.usage.completion_tokens_details.accepted_prediction_tokens == 2
    assert answer.usage.completion_tokens_details.rejected_prediction_tokens == 1


async def test_openais_client_reads_a_stream(official: openai.AsyncOpenAI) -> None:
    stream = await official.chat.completions.create(
        model="",
        messages=message("echo one two"),
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "one two"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 120


async def test_openais_client_puts_a_streamed_call_together(official: openai.AsyncOpenAI) -> None:
    tool: openai.types.chat.ChatCompletionFunctionToolParam = {
        "type": "function",
        "function": {"name": "read", "parameters": {"type": "object", "properties": {}}},
    }
    async with official.chat.completions.stream(
        model="", messages=message('both read {"path": "a"}'), tools=[tool]
    ) as stream:
        final = await stream.get_final_completion()
    [choice] = final.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "word more"
    assert choice.message.tool_calls is not None
    [call] = choice.message.tool_calls
    assert (call.id, call.function.name) == ("call-1", "read")
    assert call.function.arguments == '{"path": "a"}'


async def test_openais_client_completes_a_text(official: openai.AsyncOpenAI) -> None:
    answer = await official.completions.create(model="", prompt="#echo done", suffix="\n")
    assert answer.choices[0].text == "done"
    stream = await official.completions.create(model="", prompt="#echo done", stream=True)
    assert "".join([chunk.choices[0].text async for chunk in stream]) == "done"


async def test_openais_client_lists_models(official: openai.AsyncOpenAI) -> None:
    path = paths.models_dir() / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    assert [model.id async for model in official.models.list()] == ["qwen2.5-coder-0.5b"]
    assert (await official.models.retrieve("qwen2.5-coder-0.5b")).owned_by == "copydraft"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("words", "kind", "code"),
    [
        ("fail bad-request", openai.BadRequestError, None),
        ("fail context", openai.BadRequestError, "context_length_exceeded"),
        ("fail model", openai.NotFoundError, "model_not_found"),
        ("fail engine", openai.InternalServerError, "engine"),
    ],
)
async def test_openais_client_knows_the_faults(
    official: openai.AsyncOpenAI,
    words: str,
    kind: type[openai.APIStatusError],
    code: str | None,
    stream: bool,
) -> None:
    with pytest.raises(kind) as caught:
        await official.chat.completions.create(model="", messages=message(words), stream=stream)
    assert caught.value.code == code
    assert "it failed; try something else" in caught.value.message


async def test_openais_client_knows_a_wrong_key(official: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.AuthenticationError) as caught:
        await official.with_options(api_key="wrong").models.list()
    assert caught.value.code == "invalid_api_key"


async def test_openais_client_asks_again_only_where_that_may_help(
    daemon: Running, official: openai.AsyncOpenAI
) -> None:
    patient = official.with_options(max_retries=1)
    with pytest.raises(openai.InternalServerError):
        await patient.chat.completions.create(model="", messages=message("fail memory"))
    assert len(daemon.service.tickets) == 1


async def test_a_stream_that_openais_client_leaves_is_cancelled(
    daemon: Running, official: openai.AsyncOpenAI
) -> None:
    stream = await official.chat.completions.create(model="", messages=message("hold"), stream=True)
    async for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    await stream.close()
    await until(lambda: daemon.service.outcomes == ["cancelled"])


async def test_openais_client_without_async_reads_answer_and_stream(
    daemon: Running, port: int
) -> None:
    def ask() -> tuple[str | None, str]:
        with openai.OpenAI(
            base_url=f"http://127.0.0.1:{port}/v1", api_key=api_key.read(), max_retries=0
        ) as client:
            answer = client.chat.completions.create(model="", messages=message("echo a b"))
            stream = client.chat.completions.create(
                model="", messages=message("echo a b"), stream=True
            )
            parts = [chunk.choices[0].delta.content or "" for chunk in stream]
        return answer.choices[0].message.content, "".join(parts)

    assert await asyncio.to_thread(ask) == ("a b", "a b")
