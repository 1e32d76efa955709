"""A coding agent at work: the client of OpenAI's, the daemon's port, and a real model."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

COMMAND = (sys.executable, "-P", "-m", "copydraft")
CODE = """\
def total(prices, discount):
    summed = 0
    for price in prices:
        summed += price - discount
    return summed
"""
LISTING = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(CODE.splitlines(), 1))


def tool(name: str, *arguments: str) -> Any:
    properties = {argument: {"type": "string"} for argument in arguments}
    schema = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def wanted(name: str) -> Any:
    return {"type": "function", "function": {"name": name}}


TOOLS = [tool("read_file", "path"), tool("write_file", "path", "content")]


def copydraft(*arguments: str) -> Any:
    done = subprocess.run([*COMMAND, *arguments, "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture
def agent(
    real_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[openai.OpenAI]:
    monkeypatch.setenv("COPYDRAFT_MODEL", str(real_model("qwen2.5-coder-0.5b")))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    served = copydraft("api", "on", "--port", str(port))
    headers = {"X-Title": "Tester"}
    with openai.OpenAI(
        base_url=served["url"], api_key=served["key"], default_headers=headers, max_retries=0
    ) as client:
        yield client


def ask(agent: openai.OpenAI, messages: list[Any], **more: Any) -> Any:
    return agent.chat.completions.create(
        model="", messages=messages, tools=TOOLS, max_tokens=100, **more
    )


@pytest.mark.timeout(600)
@pytest.mark.model
def test_an_agent_calls_a_tool_and_shows_the_file_anew(agent: openai.OpenAI) -> None:
    messages: list[Any] = [{"role": "user", "content": "Add type hints to prices.py."}]
    asked = ask(agent, messages, tool_choice=wanted("read_file")).choices[0]
    (call,) = asked.message.tool_calls
    assert asked.finish_reason == "tool_calls"
    assert json.loads(call.function.arguments).keys() == {"path"}

    messages += [
        asked.message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": LISTING},
        {"role": "user", "content": "Show me the new prices.py in one code block."},
    ]
    prediction = {"type": "content", "content": CODE}
    plain = ask(agent, messages, extra_body={"draft": False})
    # Of what was drafted, strict decoding believes no near tie: it is the same, not almost.
    drafted = ask(agent, messages, prediction=prediction, extra_body={"strict": True})
    assert drafted.choices[0].message == plain.choices[0].message
    assert plain.copydraft["copied_tokens"] == 0
    assert plain.copydraft["passes"] == plain.usage.completion_tokens - 1
    assert drafted.usage.completion_tokens_details.accepted_prediction_tokens > 10
    assert drafted.usage.prompt_tokens_details.cached_tokens > 0

    (chats,) = copydraft("stats")["by_kind"]
    assert (chats["name"], chats["requests"]) == ("chat", 3)


@pytest.mark.timeout(600)
@pytest.mark.model
def test_a_stream_says_what_the_whole_answer_says(agent: openai.OpenAI) -> None:
    messages: list[Any] = [{"role": "user", "content": f"Explain in one sentence:\n{CODE}"}]
    whole = ask(agent, messages, extra_body={"draft": False})
    stream = ask(agent, messages, extra_body={"draft": False}, stream=True)
    parts = [chunk.choices[0].delta.content or "" for chunk in stream]
    assert "".join(parts) == whole.choices[0].message.content
    assert len(parts) > 10
