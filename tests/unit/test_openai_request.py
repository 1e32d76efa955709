"""Requests of OpenAI's API as ours: what is read, and what is refused by its name."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from starlette.datastructures import Headers

from copydraft.api import openai_request
from copydraft.api.openai_bodies import ChatBody
from copydraft.api.openai_faults import BadParameter, error_of
from copydraft.api.openai_request import Wanted
from copydraft.errors import BadRequest
from copydraft.protocol import (
    ChatMessage,
    ChatRequest,
    CompleteRequest,
    Generation,
    Sampling,
    Tool,
    ToolCall,
)

HI = [{"role": "user", "content": "hi"}]
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "read", "parameters": PARAMETERS}}


def chat(headers: dict[str, str] | None = None, **fields: Any) -> Wanted:
    content = json.dumps({"messages": HI} | fields).encode()
    return openai_request.chat(content, Headers(headers or {}))


def chat_request(**fields: Any) -> ChatRequest:
    request = chat(**fields).request
    assert isinstance(request, ChatRequest)
    return request


def generation(headers: dict[str, str] | None = None, **fields: Any) -> Generation:
    return chat(headers, **fields).request.generation


def completion(**fields: Any) -> CompleteRequest:
    request = openai_request.completion(json.dumps(fields).encode(), Headers()).request
    assert isinstance(request, CompleteRequest)
    return request


def refusal(error: BadRequest) -> tuple[str | None, str]:
    """The parameter that is named, and the message."""
    told: Any = error_of(error)["error"]
    return told["param"], told["message"]


# --- the conversation -------------------------------------------------------------------------


def test_the_least_that_may_be_asked_has_our_defaults() -> None:
    assert chat() == Wanted(
        ChatRequest(messages=[ChatMessage(role="user", content="hi")]),
        stream=False,
        include_usage=False,
    )


def test_null_is_the_same_as_nothing_and_unknown_fields_are_ignored() -> None:
    known = [field.name for field in msgspec.structs.fields(ChatBody)]
    nothing = dict.fromkeys(name for name in known if name != "messages")
    assert len(nothing) == 26
    assert chat(**nothing, user="u", metadata={}, parallel_tool_calls=True, store=False) == chat()


def test_every_role_is_one_of_ours() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    request = chat_request(
        messages=[
            {"role": "system", "content": "be brief"},
            {"role": "developer", "content": "be kind"},
            {"role": "user", "content": "hi", "name": "Ann"},
            {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None},
            {"role": "tool", "content": "text", "tool_call_id": "c1"},
            {"role": "function", "content": "more", "name": "read"},
            {"role": "assistant"},
        ]
    )
    assert request.messages == [
        ChatMessage(role="system", content="be brief"),
        ChatMessage(role="system", content="be kind"),
        ChatMessage(role="user", content="hi"),
        ChatMessage(role="assistant", calls=[ToolCall(id="c1", name="read", arguments="{}")]),
        ChatMessage(role="tool", content="text", answers="c1"),
        ChatMessage(role="tool", content="more", answers="read"),
        ChatMessage(role="assistant"),
    ]


def test_parts_of_a_text_are_joined() -> None:
    parts = [{"type": "text", "text": "a\n"}, {"type": "text", "text": "b", "cache_control": {}}]
    [message] = chat_request(messages=[{"role": "user", "content": parts}]).messages
    assert message.content == "a\nb"


def test_arguments_that_are_an_object_become_its_json() -> None:
    call = {"id": "c1", "function": {"name": "read", "arguments": {"path": "ä"}}}
    [message] = chat_request(messages=[{"role": "assistant", "tool_calls": [call]}]).messages
    assert message.calls == [ToolCall(id="c1", name="read", arguments='{"path":"ä"}')]


def test_a_part_that_is_no_text_is_refused_by_its_type() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:"}}
    with pytest.raises(BadRequest) as refused:
        chat(messages=[*HI, {"role": "user", "content": [image]}])
    assert refusal(refused.value) == (
        "messages[1].content",
        "content of the type 'image_url' is not supported; send text only",
    )


def test_a_prediction_is_a_text_or_parts_of_one() -> None:
    assert chat_request(prediction={"type": "content", "content": "a"}).prediction == "a"
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert chat_request(prediction={"type": "content", "content": parts}).prediction == "ab"


# --- tools ------------------------------------------------------------------------------------


def test_tools_are_offered_with_their_schema() -> None:
    described = {"type": "function", "function": {"name": "stop", "description": "Stops."}}
    assert chat_request(tools=[TOOL, described], tool_choice="auto").tools == [
        Tool(name="read", parameters=PARAMETERS),
        Tool(name="stop", description="Stops."),
    ]


def test_where_no_tool_may_be_chosen_none_is_shown() -> None:
    assert chat_request(tools=[TOOL], tool_choice="none").tools == []


@pytest.mark.parametrize(
    ("choice", "offered"),
    [
        ("required", ["read", "stop"]),
        ({"type": "function", "function": {"name": "stop"}}, ["stop"]),
    ],
)
def test_a_call_can_be_wanted(choice: Any, offered: list[str]) -> None:
    stop = {"type": "function", "function": {"name": "stop"}}
    request = chat_request(tools=[TOOL, stop], tool_choice=choice)
    assert request.must_call
    assert [tool.name for tool in request.tools] == offered


@pytest.mark.parametrize(
    ("tools", "choice"),
    [([], "required"), ([TOOL], {"type": "function", "function": {"name": "stop"}})],
)
def test_a_wanted_tool_has_to_be_there(tools: list[Any], choice: Any) -> None:
    with pytest.raises(BadRequest, match="wants a tool that is not among"):
        chat(tools=tools, tool_choice=choice)


@pytest.mark.parametrize("inner", ["properties", "anyOf"])
def test_parameters_that_chat_templates_cannot_walk_are_refused(inner: str) -> None:
    def tool(levels: int) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        for _ in range(levels - 1):
            schema = {inner: [schema]} if inner == "anyOf" else {inner: schema}
        return {"type": "function", "function": {"name": "edit", "parameters": schema}}

    assert len(chat_request(tools=[tool(50)]).tools) == 1
    with pytest.raises(BadParameter, match=r"'edit' are nested too deeply") as refused:
        chat(tools=[tool(400)])
    assert refused.value.param == "tools[0].function.parameters"


@pytest.mark.parametrize("choice", ["any", {"type": "allowed_tools"}])
def test_other_choices_of_a_tool_are_refused(choice: Any) -> None:
    with pytest.raises(BadRequest) as refused:
        chat(tools=[TOOL], tool_choice=choice)
    assert refusal(refused.value) == (
        "tool_choice",
        "this `tool_choice` is not supported; use auto, none, required or the name of a function",
    )


def test_a_tool_that_is_no_function_is_refused_by_its_type() -> None:
    with pytest.raises(BadRequest) as refused:
        chat(tools=[TOOL, {"type": "web_search"}])
    assert refusal(refused.value) == (
        "tools[1]",
        "tools of the type 'web_search' are not supported; use functions",
    )


# --- decoding ---------------------------------------------------------------------------------


def test_what_is_said_about_decoding_is_kept() -> None:
    assert generation(
        model="qwen2.5-coder-0.5b",
        max_tokens=7,
        stop=["\n", ""],
        temperature=0.7,
        top_p=0.9,
        top_k=5,
        min_p=0.1,
        seed=3,
        draft=False,
        strict=True,
        workspace="/src",
    ) == Generation(
        model="qwen2.5-coder-0.5b",
        max_tokens=7,
        stop=["\n"],
        sampling=Sampling(temperature=0.7, top_p=0.9, top_k=5, min_p=0.1, seed=3),
        draft=False,
        strict=True,
        workspace="/src",
    )


def test_a_temperature_alone_leaves_the_rest_as_it_is_in_copydraft() -> None:
    sampling = generation(temperature=0.7).sampling
    assert (sampling.top_p, sampling.top_k, sampling.min_p) == (0.95, 40, 0.05)


def test_one_stop_is_a_list_of_one() -> None:
    assert generation(stop="END").stop == ["END"]


def test_the_newer_name_of_the_limit_goes_before_the_older() -> None:
    assert generation(max_completion_tokens=5, max_tokens=9).max_tokens == 5
    assert generation(max_completion_tokens=5).max_tokens == 5


@pytest.mark.parametrize(("seed", "ours"), [(0, 0), (7, 7), (-1, 2**32 - 1), (2**32, 0)])
def test_any_seed_becomes_one_of_ours(seed: int, ours: int) -> None:
    assert generation(seed=seed).sampling.seed == ours


def test_without_a_seed_each_sampled_answer_has_one_of_its_own() -> None:
    seeds = {generation(temperature=1).sampling.seed for _ in range(8)}
    assert len(seeds) > 1
    assert generation(temperature=0).sampling.seed == 0


def test_a_stream_may_be_wanted_with_its_usage() -> None:
    wanted = chat(stream=True, stream_options={"include_usage": True})
    assert (wanted.stream, wanted.include_usage) == (True, True)
    assert chat(stream=True).include_usage is False


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({"n": 2}, "n", "`n` 2 is not supported; leave it out"),
        ({"frequency_penalty": 0.5}, "frequency_penalty", "`frequency_penalty` is not supported"),
        ({"presence_penalty": -1}, "presence_penalty", "`presence_penalty` is not supported"),
        ({"logit_bias": {"5": 1}}, "logit_bias", "`logit_bias` is not supported; leave it out"),
        ({"logprobs": True}, "logprobs", "`logprobs` is not supported; leave it out"),
        ({"top_logprobs": 3}, "logprobs", "`logprobs` is not supported; leave it out"),
        (
            {"response_format": {"type": "json_object"}},
            "response_format",
            "`response_format` 'json_object' is not supported; leave it out",
        ),
        ({"functions": [{"name": "f"}]}, "functions", "`functions` are not supported; use `tools`"),
        ({"function_call": "auto"}, "functions", "`functions` are not supported; use `tools`"),
        (
            {"prediction": {"type": "file"}},
            "prediction.type",
            "`prediction.type` 'file' is not supported; leave it out",
        ),
        (
            {"messages": [{"role": "assistant", "function_call": {"name": "f"}}]},
            "messages[0].function_call",
            "`function_call` is not supported; use `tool_calls`",
        ),
        (
            {"messages": []},
            "messages",
            "not a valid request: Expected `array` of length >= 1 - at `$.messages`",
        ),
        (
            {"messages": [{"role": "robot"}]},
            "messages[0].role",
            "not a valid request: Invalid enum value 'robot' - at `$.messages[0].role`",
        ),
        (
            {"temperature": -1},
            "temperature",
            "not a valid request: Expected `float` >= 0.0 - at `$.temperature`",
        ),
        (
            {"max_tokens": 0},
            "max_tokens",
            "not a valid request: Expected `int` >= 1 - at `$.max_tokens`",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_by_its_name(
    fields: dict[str, Any], param: str, message: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        chat(**fields)
    assert (refusal(refused.value)[0], refusal(refused.value)[1][: len(message)]) == (
        param,
        message,
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 1},
        {"frequency_penalty": 0, "presence_penalty": 0.0},
        {"logit_bias": {}, "logprobs": False, "top_logprobs": 0},
        {"response_format": {"type": "text"}},
        {"functions": []},
    ],
)
def test_what_changes_nothing_is_not_refused(fields: dict[str, Any]) -> None:
    assert chat(**fields) == chat()


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (rb"cut \ud83d", "cut \ufffd"),
        (rb"\ude00 cut", "\ufffd cut"),
        (rb"\uD83D\n", "\ufffd\n"),
        (rb"\ud83d\ud83d\ude00", "\ufffd\N{GRINNING FACE}"),
        (rb"\\ud83d", r"\ud83d"),
    ],
)
def test_half_a_surrogate_pair_is_read_as_the_replacement_character(sent: bytes, read: str) -> None:
    """Agents in JavaScript send one where they cut a long tool's result amid an emoji."""
    content = b'{"messages": [{"role": "user", "content": "' + sent + b'"}]}'
    request = openai_request.chat(content, Headers({})).request
    assert isinstance(request, ChatRequest)
    assert request.messages[0].content == read


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"messages": ' + b"[" * 1_000_000])
def test_what_is_no_request_is_refused(content: bytes) -> None:
    with pytest.raises(BadRequest, match="not a valid request"):
        openai_request.chat(content, Headers())


# --- who asks, and where ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "agent"),
    [
        ({"User-Agent": "Cline/3.1"}, "Cline"),
        ({"User-Agent": "OpenAI/Python 1.2"}, "OpenAI"),
        ({"User-Agent": "curl"}, "curl"),
        ({"User-Agent": "Mozilla/5.0 (X11) Continue/2"}, "Mozilla"),
        ({"User-Agent": "Cline/3.1", "X-Title": "Roo Code"}, "Roo Code"),
        ({"X-Title": "a\x1b[2Jb\xe2\x82\xac"}, "a[2Jb€"),
        ({"X-Title": "x" * 100}, "x" * 64),
        ({"User-Agent": "  /"}, ""),
        ({}, ""),
    ],
)
def test_the_agent_is_what_it_calls_itself(headers: dict[str, str], agent: str) -> None:
    assert generation(headers).agent == agent


def test_the_workspace_is_in_a_header_or_in_the_body() -> None:
    header = {"X-Copydraft-Workspace": "/src/ä".encode().decode("latin-1")}
    assert generation(header).workspace == "/src/ä"
    assert generation(header, workspace="/other").workspace == "/src/ä"
    assert generation(workspace="/other").workspace == "/other"


def test_a_workspace_that_is_no_absolute_path_is_refused() -> None:
    with pytest.raises(BadRequest, match="the workspace is no absolute path: 'src'"):
        chat(workspace="src")


# --- completions ------------------------------------------------------------------------------


def test_a_completion_is_asked_for_between_prompt_and_suffix() -> None:
    assert completion(prompt="a😀", suffix="b", max_tokens=9) == CompleteRequest(
        path="", text="a😀b", offset=2, generation=Generation(max_tokens=9)
    )


def test_a_prompt_may_be_a_list_of_one_and_have_no_suffix() -> None:
    assert completion(prompt=["a"]) == CompleteRequest(path="", text="a", offset=1)


@pytest.mark.parametrize("prompt", [["a", "b"], [1, 2], [[1]], []])
def test_a_prompt_of_several_texts_or_of_tokens_is_refused(prompt: list[object]) -> None:
    with pytest.raises(BadRequest) as refused:
        completion(prompt=prompt)
    assert refusal(refused.value) == (
        "prompt",
        "`prompt` is not one text; send one request for each",
    )


@pytest.mark.parametrize("field", ["echo", "best_of", "logprobs", "n"])
def test_what_a_completion_cannot_have_is_refused_by_its_name(field: str) -> None:
    with pytest.raises(BadRequest) as refused:
        completion(prompt="a", **{field: True if field == "echo" else 2})
    assert refusal(refused.value)[0] == field
