"""Answers in the shapes of OpenAI's API: whole, or in the chunks of a stream."""

from __future__ import annotations

import secrets
import time
from typing import Any, Protocol

from copydraft.protocol import ChatResult, CompleteResult, Delta, RequestStats, ToolCall

Shape = dict[str, Any]


class Answer(Protocol):
    """The shapes of one answer; chunks go out in the order opening, more…, closing."""

    model: str
    """Its name in the chunks before the closing ones."""

    def whole(self, result: Any) -> Shape: ...

    def opening(self) -> list[Shape]: ...

    def more(self, delta: Delta) -> list[Shape]: ...

    def closing(self, result: Any) -> list[Shape]: ...


class ChatAnswer:
    """The next message of a conversation."""

    def __init__(self, *, include_usage: bool) -> None:
        self._id = _new_id("chatcmpl-")
        self._created = int(time.time())
        self._include_usage = include_usage
        self.model = ""
        self._sent = 0
        """Characters of the content."""

    def whole(self, result: ChatResult) -> Shape:
        only_calls = bool(result.calls) and not result.text
        message: Shape = {
            "role": "assistant",
            "content": None if only_calls else result.text,
            "refusal": None,
        }
        if result.calls:
            message["tool_calls"] = [_call(call) for call in result.calls]
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _finish_reason(result),
        }
        return {
            "id": self._id,
            "object": "chat.completion",
            "created": self._created,
            "model": result.stats.model,
            "choices": [choice],
            **_costs(result.stats),
        }

    def opening(self) -> list[Shape]:
        return [self._part({"role": "assistant", "content": ""})]

    def more(self, delta: Delta) -> list[Shape]:
        self._sent += len(delta.text)
        return [self._part({"content": delta.text})] if delta.text else []

    def closing(self, result: ChatResult) -> list[Shape]:
        self.model = result.stats.model
        rest = result.text[self._sent :]
        chunks = [self._part({"content": rest})] if rest else []
        chunks += [
            self._part({"tool_calls": [{"index": at, **_call(call)}]})
            for at, call in enumerate(result.calls)
        ]
        chunks.append(self._part({}, _finish_reason(result)))
        if self._include_usage:
            chunks.append(self._chunk([]) | _costs(result.stats))
        return chunks

    def _part(self, delta: Shape, finish_reason: str | None = None) -> Shape:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return self._chunk([choice])

    def _chunk(self, choices: list[Shape]) -> Shape:
        chunk = {
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": self.model,
            "choices": choices,
        }
        return chunk | {"usage": None} if self._include_usage else chunk


class TextAnswer:
    """What belongs in the middle of a text. It is one chunk: until its end is known, it may still
    be cut.
    """

    def __init__(self, *, include_usage: bool) -> None:
        self._id = _new_id("cmpl-")
        self._created = int(time.time())
        self._include_usage = include_usage
        self.model = ""

    def whole(self, result: CompleteResult) -> Shape:
        return self._with(result, _finish_reason(result)) | _costs(result.stats)

    def opening(self) -> list[Shape]:
        return []

    def more(self, delta: Delta) -> list[Shape]:  # noqa: ARG002  # the protocol's
        return []

    def closing(self, result: CompleteResult) -> list[Shape]:
        chunk = self._with(result, _finish_reason(result))
        if not self._include_usage:
            return [chunk]
        return [chunk | {"usage": None}, chunk | {"choices": []} | _costs(result.stats)]

    def _with(self, result: CompleteResult, finish_reason: str) -> Shape:
        choice = {
            "index": 0,
            "text": result.text,
            "logprobs": None,
            "finish_reason": finish_reason,
        }
        return {
            "id": self._id,
            "object": "text_completion",
            "created": self._created,
            "model": result.stats.model,
            "choices": [choice],
        }


def _new_id(prefix: str) -> str:
    return prefix + secrets.token_hex(12)


def _call(call: ToolCall) -> Shape:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _finish_reason(result: ChatResult | CompleteResult) -> str:
    if isinstance(result, ChatResult) and result.calls:
        return "tool_calls"
    return "length" if result.stats.stop_reason in ("length", "context") else "stop"


def _costs(stats: RequestStats) -> Shape:
    """The usage, and what OpenAI's API has no words for."""
    predicted = stats.drafted.get("prediction", 0)
    accepted = stats.accepted.get("prediction", 0)
    return {
        "usage": {
            "prompt_tokens": stats.prompt_tokens,
            "completion_tokens": stats.output_tokens,
            "total_tokens": stats.prompt_tokens + stats.output_tokens,
            "prompt_tokens_details": {"cached_tokens": stats.reused_tokens},
            "completion_tokens_details": {
                "accepted_prediction_tokens": accepted,
                "rejected_prediction_tokens": predicted - accepted,
            },
        },
        "copydraft": {
            "copied_tokens": stats.copied_tokens,
            "passes": stats.passes,
            "tokens_per_s": stats.tokens_per_s,
            "stop_reason": stats.stop_reason,
        },
    }
