"""Chats, as agents and other clients hold them: messages and tools to a prompt, and text and calls
out of the answer.

What an agent has its tools read comes back in two other forms. Behind line numbers, which its
edits do not have; and in the arguments of calls, which most models write as JSON. So messages are
drafted from as those edits will print them, too.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from copydraft.emission import calls as emission
from copydraft.emission import quotations
from copydraft.emission.calls import (
    HERMES,
    CallShape,
    json_text,
    read_calls,
    text_before_calls,
)
from copydraft.errors import ContextExceeded
from copydraft.prompts.pieces import Piece, encode_pieces
from copydraft.prompts.template import Call, ChatTemplate, Message
from copydraft.prompts.thinking import start_of_answer
from copydraft.prompts.tools import schema_of
from copydraft.protocol import (
    ChatMessage,
    ChatRequest,
    ChatResult,
    RequestStats,
    Span,
    ToolCall,
)
from copydraft.tokens import Document, Quotation, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LEAST_ROOM = 16
_CALL_ID = re.compile(r"[A-Za-z0-9]{9}")
"""Mistral's templates want ids so; all others take any."""
_NUMBER = r"[ \t]*\d+(?:\t|→|: |\| ?| \| ?)"
_NUMBERED = re.compile(rf"^{_NUMBER}", re.MULTILINE)
_NUMBERED_LINES = 3
"""Fewer lines in a row with numbers may be something else."""
_MANY_NUMBERED = re.compile(rf"(?:^{_NUMBER}.*\n){{{_NUMBERED_LINES}}}", re.MULTILINE)
_TOLD = """\
You may call tools. Each is described by a JSON schema:
{tools}
To call one, write a JSON object between tags, and nothing behind it:
{call}"""


class ChatReader:
    """Follows an answer as it is written."""

    def __init__(self, shape: CallShape | None, *, in_call: bool = False) -> None:
        """`shape`: how the model calls tools; None: there are none to call. `in_call`: it began."""
        self._shape = shape
        self._in_call = in_call
        self._text = ""
        self.hidden = 0
        """Characters before the answer's text: thinking, and blank space."""
        self._sure = 0
        """Characters behind these that belong to no call."""

    @property
    def held(self) -> int:
        """Characters at the end that are, or may become, calls."""
        if self._in_call:
            return len(self._text)
        return len(self._text) - self.hidden - self._sure if self._shape else 0

    def feed(self, delta: str) -> bool:
        beginning = self.hidden == len(self._text)
        self._text += delta
        if beginning:
            self.hidden = start_of_answer(self._text)
        if self._shape:
            self._sure = text_before_calls(self._text[self.hidden :], self._shape, self._sure)
        return False


@dataclass(frozen=True)
class Prepared:
    """All that decoding needs to know of a request."""

    request: ChatRequest
    prompt: list[int]
    documents: list[Document]
    quotations: list[Quotation]
    max_tokens: int
    reader: ChatReader
    shape: CallShape
    opening: str
    """Of a call that is wanted: it stands in the prompt, and the answer goes on with it."""
    spelled: dict[int, bytes]
    """Control tokens that calls are made of: they are to stand in the answer's text."""


def prepare(
    request: ChatRequest,
    tokenizer: Tokenizer,
    template: ChatTemplate,
    shape: CallShape | None,
    *,
    context: int,
    printed: dict[str, list[int]],
) -> Prepared:
    """The prompt and what to draft from; `shape` is `prompts.tools.call_shape`'s.

    `printed` has tokens by text, of the latest conversation: its next turn has most of them, too.

    Raises:
        ContextExceeded: the conversation is longer than the context.
        ModelProblem: the model's chat template fails.
    """
    called = shape or HERMES
    special_texts = tokenizer.special_texts
    tools = [schema_of(t.name, t.description, t.parameters or _NOTHING) for t in request.tools]
    messages = _messages(request.messages, called)
    if shape is None:
        messages, tools = _without_tools(messages, tools), []
    pieces = template.pieces(messages, special_texts, tools)
    opening = ""
    if request.must_call:
        only = request.tools[0].name if len(request.tools) == 1 else ""
        opening = called.opening_for(only).lstrip()
        # The name is a client's: it may spell control tokens.
        start = len(called.before_name.lstrip())
        end = start + len(only)
        pieces += [
            Piece(opening[:start], markup=True),
            Piece(opening[start:end], markup=False),
            Piece(opening[end:], markup=True),
        ]
    prompt = encode_pieces(pieces, tokenizer)
    room = context - len(prompt)
    if room < _LEAST_ROOM:
        raise ContextExceeded(
            f"the conversation is {len(prompt)} tokens long, the context holds {context}",
            "begin a new one, or raise the setting `context` and run `copydraft daemon restart`",
        )
    documents = _printed(request, called, tokenizer, printed)
    if request.prediction:
        tokens = tokenizer.encode(request.prediction)
        documents.append(Document("prediction", "", "text", tokens))
    return Prepared(
        request,
        prompt,
        [*documents, Document("session", "", "prompt", prompt)],
        _quotations(request, called, tokenizer),
        min(request.generation.max_tokens or room, room),
        ChatReader(called if request.tools else None, in_call=bool(opening)),
        called,
        opening,
        _spelled(called, tokenizer) if request.tools else {},
    )


def finish(
    prepared: Prepared,
    answer: str,
    stop_reason: str,  # noqa: ARG001  (a message that was cut off is told so by its statistics)
    spans: Sequence[Span],
    stats: RequestStats,
    margins: Sequence[float],
) -> ChatResult:
    """Text and calls in the raw `answer`."""
    opening = prepared.opening
    answer = opening + answer
    text = answer[start_of_answer(answer, ended=True) :]
    calls: Sequence[emission.Call] = ()
    if prepared.request.tools:
        schemas = {tool.name: tool.parameters for tool in prepared.request.tools}
        text, calls = read_calls(text, prepared.shape, schemas)
    return ChatResult(
        text=text,
        calls=[ToolCall(id=_new_id(), name=c.name, arguments=c.arguments) for c in calls],
        spans=_behind(opening, spans),
        stats=stats,
        answer=answer,
        margins=list(margins),
    )


def _behind(opening: str, spans: Sequence[Span]) -> list[Span]:
    """`spans` of a text, as they are in the text behind `opening`."""
    size = len(opening)
    moved = [replace(span, start=span.start + size, end=span.end + size) for span in spans]
    return [Span(start=0, end=size, corpus="format"), *moved] if opening else moved


def _spelled(shape: CallShape, tokenizer: Tokenizer) -> dict[int, bytes]:
    found = [text for text in tokenizer.special_texts if text and text in shape.markup]
    tokens = {text: tokenizer.encode(text, special=True) for text in found}
    return {ids[0]: text.encode() for text, ids in tokens.items() if len(ids) == 1}


_NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
"""Templates look into the schema of a tool that takes nothing, too."""


def _messages(messages: Sequence[ChatMessage], shape: CallShape) -> list[Message]:
    names = {call.id: call.name for message in messages for call in message.calls}
    return [
        Message(
            message.role,
            _without_thinking(message),
            tuple(
                Call(_short_id(call.id), call.name, _arguments(call.arguments, shape))
                for call in message.calls
            ),
            _short_id(message.answers) if message.answers else "",
            names.get(message.answers, ""),
        )
        for message in messages
    ]


def _without_thinking(message: ChatMessage) -> str:
    """Models do not get their earlier thinking to read."""
    if message.role != "assistant":
        return message.content
    return message.content[start_of_answer(message.content) :]


def _arguments(text: str, shape: CallShape) -> Mapping[str, Any] | str:
    if shape.text_arguments:
        return text
    try:
        arguments = json.loads(text)
    except ValueError:
        return text
    return arguments if isinstance(arguments, dict) else text


def _without_tools(
    messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]
) -> list[Message]:
    """The same for templates that know none: calls, results and what tools there are as text."""
    plain = []
    for message in messages:
        if message.role == "tool":
            content = f"<tool_response>\n{message.content}\n</tool_response>"
            plain.append(Message("user", content))
        else:
            calls = (HERMES.printed(call.name, call.arguments) for call in message.calls)
            content = "\n".join(part for part in (message.content, *calls) if part)
            plain.append(Message(message.role, content))
    if not tools:
        return plain
    told = _TOLD.format(
        tools="\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools),
        call=HERMES.printed("NAME", {"ARGUMENT": "..."}),
    )
    return [Message("system", told), *plain]


def _printed(
    request: ChatRequest, shape: CallShape, tokenizer: Tokenizer, known: dict[str, list[int]]
) -> list[Document]:
    """What was read, as the model would print it in a call, and without line numbers."""
    escaped = bool(request.tools) and shape.escapes
    field = "call" if escaped else "text"
    read = [message for message in request.messages if message.role in ("user", "tool")]
    texts = [(message, _without_numbers(message.content)) for message in read]
    if escaped:
        texts = [(message, json_text(text)) for message, text in texts]
    changed = [(message.role, text) for message, text in texts if text != message.content]
    tokens = {text: known.get(text) or tokenizer.encode(text) for _, text in changed}
    known.clear()
    known.update(tokens)
    return [Document("session", role, field, tokens[text]) for role, text in changed]


def _quotations(request: ChatRequest, shape: CallShape, tokenizer: Tokenizer) -> list[Quotation]:
    if not request.tools:
        return quotations.in_blocks(tokenizer)
    schemas = {tool.name: tool.parameters for tool in request.tools}
    return quotations.in_calls(shape, schemas, tokenizer)


def _without_numbers(text: str) -> str:
    """A listing without the numbers before its lines; another text as it is."""
    return _NUMBERED.sub("", text) if _MANY_NUMBERED.search(text) else text


def _short_id(call_id: str) -> str:
    if _CALL_ID.fullmatch(call_id):
        return call_id
    return hashlib.sha256(call_id.encode()).hexdigest()[:9]


def _new_id() -> str:
    return secrets.token_hex(5)[:9]
