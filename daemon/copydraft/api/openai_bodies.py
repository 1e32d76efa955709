"""The bodies of requests to OpenAI's API, as far as they are read; null is the same as nothing."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Part(msgspec.Struct):
    """Part of a message; `text` is of the type that has one."""

    type: str
    text: str | None = None


Content = str | list[Part] | None


class Function(msgspec.Struct):
    """A function that is offered as a tool."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class OfferedTool(msgspec.Struct):
    """What a client offers to do for the model."""

    type: str
    function: Function | None = None


class Called(msgspec.Struct):
    """The name of a called function, and an object as JSON; some clients send the object itself."""

    name: str
    arguments: str | dict[str, Any] | None = None


class Call(msgspec.Struct):
    """A call that the model made earlier."""

    function: Called
    id: str | None = None


class SaidMessage(msgspec.Struct):
    """One message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content = None
    tool_calls: list[Call] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    function_call: dict[str, Any] | None = None


class Typed(msgspec.Struct):
    """Of which only the type is read."""

    type: str


class Prediction(Typed):
    """The answer as the caller expects it."""

    content: Content = None


class StreamOptions(msgspec.Struct):
    """What a stream may hold beside the answer."""

    include_usage: bool | None = None


class Body(msgspec.Struct, kw_only=True):
    """What both kinds of request have."""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: _Count | None = None
    stop: str | list[str] | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0, le=100)] | None = None
    top_p: _Share | None = None
    top_k: int | None = None
    min_p: _Share | None = None
    seed: int | None = None
    n: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    draft: bool | None = None
    strict: bool | None = None
    workspace: str | None = None


class ChatBody(Body, kw_only=True):
    """`/v1/chat/completions`"""

    messages: Annotated[list[SaidMessage], msgspec.Meta(min_length=1)]
    tools: list[OfferedTool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    max_completion_tokens: _Count | None = None
    prediction: Prediction | None = None
    response_format: Typed | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    functions: list[Any] | None = None
    function_call: str | dict[str, Any] | None = None


class TextBody(Body, kw_only=True):
    """`/v1/completions`"""

    prompt: str | list[Any]
    suffix: str | None = None
    echo: bool | None = None
    best_of: int | None = None
    logprobs: int | None = None
