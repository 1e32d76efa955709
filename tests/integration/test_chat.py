"""Conversations on a real engine, from the request to text, calls and what was drafted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from copydraft.config import Config
from copydraft.protocol import ChatMessage, ChatRequest, ChatResult, Delta, Generation, Tool
from tests.fixtures.serving import Listener, Serving

CONTENT = "def add(a, b):\\n    return a + b\\n\\nprint(add(1, 2))\\n"
LISTING = "   1\tdef add(a, b):\n   2\t    return a + b\n   3\t\n   4\tprint(add(1, 2))\n"
ANSWER = (
    f'I write it.\n<tool_call>\n{{"name": "write", "arguments": {{"content": "{CONTENT}"}}}}'
    "\n</tool_call>"
)
WRITE = Tool(name="write", parameters={"properties": {"content": {"type": "string"}}})


@pytest.fixture
def serving(answering_model: Callable[..., Path]) -> Iterator[Serving]:
    """A scheduler whose model answers every conversation with ANSWER."""
    model = answering_model(ANSWER)
    one = Serving(model, Config(model=str(model), context=2048, threads=1))
    yield one
    one.scheduler.stop()


def answered(listener: Listener) -> ChatResult:
    result = listener.wait()
    assert isinstance(result, ChatResult), result
    return result


def chat(
    *contents: str, draft: bool = True, prediction: str = "", tools: bool = True
) -> ChatRequest:
    return ChatRequest(
        messages=[ChatMessage(role="user", content=content) for content in contents],
        tools=[WRITE] if tools else [],
        prediction=prediction,
        generation=Generation(draft=draft),
    )


def test_text_and_calls_of_an_answer_come_apart(serving: Serving) -> None:
    listener = serving.submit(chat("Write it."))
    result = answered(listener)
    assert result.text == "I write it."
    assert [call.name for call in result.calls] == ["write"]
    assert result.calls[0].arguments == f'{{"content": "{CONTENT}"}}'
    assert result.answer == ANSWER
    assert result.stats.kind == "chat"
    shown = "".join(event.text for event in listener.events if isinstance(event, Delta))
    assert shown == "I write it."


def test_a_call_is_copied_from_a_listing_as_the_call_prints_it(serving: Serving) -> None:
    result = answered(serving.submit(chat(LISTING)))
    copied = [result.answer[span.start : span.end] for span in result.spans if span.path == "user"]
    assert "\\nprint(add(1, 2))" in copied


def test_without_drafts_the_answer_is_the_same(serving: Serving) -> None:
    drafted = answered(serving.submit(chat(LISTING)))
    plain = answered(serving.submit(chat(LISTING, draft=False)))
    assert plain.answer == drafted.answer
    assert plain.stats.drafted == {}


def test_the_prediction_is_drafted_from(serving: Serving) -> None:
    result = answered(serving.submit(chat("Write it.", prediction=ANSWER, tools=False)))
    assert result.stats.accepted["prediction"] > 20


def test_a_longer_conversation_reads_only_what_is_new(serving: Serving) -> None:
    answered(serving.submit(chat("Write it.")))
    again = answered(serving.submit(chat("Write it.", "And again.")))
    assert again.stats.reused_tokens > again.stats.prompt_tokens / 2


def test_a_conversation_too_long_for_the_context_is_refused(serving: Serving) -> None:
    assert serving.submit(chat("word, " * 3000)).failure().code == "context"
