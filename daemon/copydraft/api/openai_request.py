"""Requests of OpenAI's API, read into our own; what cannot be done is refused by its name.

Fields that are not known are ignored, and null is the same as nothing. Where OpenAI's defaults and
ours differ, ours hold: the temperature is 0, and top_p is `protocol.Sampling`'s.
"""

from __future__ import annotations

import re
import secrets
from pathlib import PurePath
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from starlette.datastructures import Headers

from copydraft.api.openai_bodies import (
    Body,
    Call,
    ChatBody,
    Content,
    SaidMessage,
    TextBody,
)
from copydraft.api.openai_faults import BadParameter
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

WORKSPACE_HEADER = "X-Copydraft-Workspace"

_LONGEST_AGENT = 64
_SEEDS = 2**32
_DEEPEST = 100
"""Levels of a tool's JSON schema; chat templates walk it by recursion."""
_PLACE = re.compile(r" - at `\$\.?([^`]*)`\Z")
"""Where msgspec says that something is wrong."""
_ESCAPE = re.compile(
    rb"\\(?:u[Dd][89ABab]..\\u[Dd][C-Fc-f]..|(?P<half>u[Dd][89A-Fa-f][0-9A-Fa-f]{2})|.)", re.DOTALL
)
"""In JSON; `half` is a surrogate without its other half."""
_SURROGATE = re.compile(rb"\\u[Dd][89A-Fa-f]")
"""Few requests have one: they alone take the time to look at every escape."""

B = TypeVar("B", bound=Body)


class Wanted(NamedTuple):
    """What a client asks for, and how it wants the answer."""

    request: ChatRequest | CompleteRequest
    stream: bool
    include_usage: bool


def chat(content: bytes, headers: Headers) -> Wanted:
    """Read a request to `/v1/chat/completions`.

    Raises:
        BadRequest: it is none, or asks for what is not supported; a `BadParameter` names what.
    """
    body = _decoded(content, ChatBody)
    _refuse_unsupported(body)
    if body.functions or body.function_call is not None:
        raise BadParameter("functions", "`functions` are not supported", "use `tools`")
    if body.logprobs or body.top_logprobs:
        raise _unsupported("logprobs")
    if body.response_format and body.response_format.type != "text":
        raise _unsupported("response_format", body.response_format.type)
    if body.prediction and body.prediction.type != "content":
        raise _unsupported("prediction.type", body.prediction.type)
    most = body.max_completion_tokens or body.max_tokens
    tools, must_call = _chosen(body)
    request = ChatRequest(
        messages=[_message(message, at) for at, message in enumerate(body.messages)],
        tools=tools,
        must_call=must_call,
        prediction=_text(body.prediction.content, "prediction") if body.prediction else "",
        generation=_generation(body, headers, most),
    )
    return _wanted(request, body)


def completion(content: bytes, headers: Headers) -> Wanted:
    """Read a request to `/v1/completions`; raises as `chat` does."""
    body = _decoded(content, TextBody)
    _refuse_unsupported(body)
    if body.echo:
        raise _unsupported("echo")
    if body.best_of not in (None, 1):
        raise _unsupported("best_of", body.best_of)
    if body.logprobs is not None:
        raise _unsupported("logprobs")
    prompt = body.prompt
    if isinstance(prompt, list):
        if len(prompt) != 1 or not isinstance(prompt[0], str):
            raise BadParameter("prompt", "`prompt` is not one text", "send one request for each")
        prompt = prompt[0]
    request = CompleteRequest(
        path="",
        text=prompt + (body.suffix or ""),
        offset=len(prompt),
        generation=_generation(body, headers, body.max_tokens),
    )
    return _wanted(request, body)


def agent_of(headers: Headers) -> str:
    """The calling agent's name: what it calls itself, or the first product of its user agent."""
    products = headers.get("User-Agent", "").replace("/", " ").split()
    name = headers.get("X-Title", "") or "".join(products[:1])
    return "".join(sign for sign in _utf8(name) if sign.isprintable()).strip()[:_LONGEST_AGENT]


def _decoded(content: bytes, kind: type[B]) -> B:
    if _SURROGATE.search(content):
        content = _ESCAPE.sub(_whole, content)
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        place = _PLACE.search(str(error))
        raise BadParameter(place[1] if place else "", f"not a valid request: {error}") from error


def _whole(escape: re.Match[bytes]) -> bytes:
    """JavaScript cuts texts amid a pair of surrogates: half of one is in no other text."""
    return rb"\ufffd" if escape["half"] else escape[0]


def _refuse_unsupported(body: Body) -> None:
    if body.n not in (None, 1):
        raise _unsupported("n", body.n)
    for name in ("frequency_penalty", "presence_penalty"):
        if getattr(body, name):
            raise _unsupported(name)
    if body.logit_bias:
        raise _unsupported("logit_bias")


def _unsupported(param: str, value: object = None) -> BadParameter:
    shown = "" if value is None else f" {value!r}"
    return BadParameter(param, f"`{param}`{shown} is not supported", "leave it out")


def _wanted(request: ChatRequest | CompleteRequest, body: Body) -> Wanted:
    usage = body.stream_options and body.stream_options.include_usage
    return Wanted(request, stream=bool(body.stream), include_usage=bool(usage))


def _message(message: SaidMessage, at: int) -> ChatMessage:
    where = f"messages[{at}]"
    if message.function_call is not None:
        raise BadParameter(
            f"{where}.function_call", "`function_call` is not supported", "use `tool_calls`"
        )
    roles: dict[str, Literal["system", "tool"]] = {"developer": "system", "function": "tool"}
    answered = message.tool_call_id or (message.role == "function" and message.name) or ""
    return ChatMessage(
        role=roles.get(message.role, message.role),  # type: ignore[arg-type]  # no other is left
        content=_text(message.content, f"{where}.content"),
        calls=[_call(call) for call in message.tool_calls or ()],
        answers=answered,
    )


def _call(call: Call) -> ToolCall:
    arguments = call.function.arguments
    if isinstance(arguments, dict):
        arguments = msgspec.json.encode(arguments).decode()
    return ToolCall(id=call.id or "", name=call.function.name, arguments=arguments or "")


def _text(content: Content, where: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    for part in content:
        if part.type != "text":
            raise BadParameter(
                where, f"content of the type {part.type!r} is not supported", "send text only"
            )
    return "".join(part.text or "" for part in content)


def _chosen(body: ChatBody) -> tuple[list[Tool], bool]:
    """The tools that may be called, and whether one of them has to be."""
    tools = _tools(body)
    match body.tool_choice:
        case None | "auto":
            return tools, False
        case "none":
            return [], False
        case "required":
            wanted = tools
        case {"type": "function", "function": {"name": name}}:
            wanted = [tool for tool in tools if tool.name == name]
        case _:
            raise BadParameter(
                "tool_choice",
                "this `tool_choice` is not supported",
                "use auto, none, required or the name of a function",
            )
    if not wanted:
        raise BadParameter("tool_choice", "`tool_choice` wants a tool that is not among `tools`")
    return wanted, True


def _tools(body: ChatBody) -> list[Tool]:
    tools = []
    for at, tool in enumerate(body.tools or ()):
        if tool.type != "function" or tool.function is None:
            raise BadParameter(
                f"tools[{at}]",
                f"tools of the type {tool.type!r} are not supported",
                "use functions",
            )
        function = tool.function
        if _is_deep(function.parameters or {}):
            raise BadParameter(
                f"tools[{at}].function.parameters",
                f"the parameters of the tool {function.name!r} are nested too deeply",
                f"use {_DEEPEST} levels at most",
            )
        tools.append(
            Tool(
                name=function.name,
                description=function.description or "",
                parameters=function.parameters or {},
            )
        )
    return tools


def _is_deep(schema: dict[str, Any]) -> bool:
    level: list[dict[str, Any] | list[Any]] = [schema]
    for _ in range(_DEEPEST):
        members = [each.values() if isinstance(each, dict) else each for each in level]
        level = [one for each in members for one in each if isinstance(one, dict | list)]
    return bool(level)


def _generation(body: Body, headers: Headers, most: int | None) -> Generation:
    stop = [body.stop] if isinstance(body.stop, str) else body.stop or []
    return Generation(
        model=body.model or "",
        max_tokens=most or 0,
        stop=[text for text in stop if text],
        sampling=_sampling(body),
        draft=body.draft is not False,
        strict=bool(body.strict),
        agent=agent_of(headers),
        workspace=_workspace(body, headers),
    )


def _sampling(body: Body) -> Sampling:
    given = {
        name: value
        for name in ("temperature", "top_p", "top_k", "min_p")
        if (value := getattr(body, name)) is not None
    }
    if body.seed is not None:
        given["seed"] = body.seed % _SEEDS
    elif body.temperature:
        given["seed"] = secrets.randbelow(_SEEDS)
    return Sampling(**given)


def _workspace(body: Body, headers: Headers) -> str:
    root = _utf8(headers.get(WORKSPACE_HEADER, "")) or body.workspace or ""
    if root and not PurePath(root).is_absolute():
        raise BadRequest(f"the workspace is no absolute path: {root!r}", "name its root so")
    return root


def _utf8(header: str) -> str:
    """The text of a header, which clients write in UTF-8 and HTTP reads as Latin-1."""
    try:
        return header.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return header
