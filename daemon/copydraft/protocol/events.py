"""What the daemon sends while it answers: events, of which the last is a result or a fault."""

from __future__ import annotations

import msgspec

from copydraft.errors import CopydraftError, from_wire
from copydraft.protocol.message import Kind, Message
from copydraft.protocol.requests import ToolCall


class Span(Message):
    """Part [start, end) of a text, and where it was copied from; corpus "" is newly written."""

    start: int
    end: int
    corpus: str = ""
    path: str = ""


class Queued(Message, tag="queued"):
    """Other requests run first; `ahead` counts them."""

    ahead: int


class Loading(Message, tag="loading"):
    """The daemon reads the model from disk; `share` runs from 0 to 1."""

    model: str
    share: float


class Prefill(Message, tag="prefill"):
    """The model reads the prompt: `done` of `total` tokens, `reused` of them kept from before."""

    done: int
    total: int
    reused: int


class Notice(Message, tag="notice"):
    """Something the user should know; the request goes on."""

    message: str


class Delta(Message, tag="delta"):
    """More of the raw answer. Spans count from the start of this delta's text and cover it.

    Of an explanation or a chat's answer, the thinking before it and the calls of tools are left
    out; there is no text in the deltas meanwhile.
    """

    text: str
    spans: list[Span]
    tokens: int
    """Tokens written so far, these included."""


class WidthTime(Message):
    """Passes of one width (tokens decoded together), and their time in all."""

    width: int
    passes: int
    ms: float


class RequestStats(Message):
    """What a request cost and what drafting brought. Rates are tokens per second, 0 if unknown."""

    kind: Kind
    agent: str
    model: str
    device: str
    draft: bool
    strict: bool
    prompt_tokens: int
    reused_tokens: int
    """Prompt tokens found in the prefix cache."""
    output_tokens: int
    copied_tokens: int
    """Output tokens that a draft had right."""
    passes: int
    """Decode passes, without those that read the prompt."""
    drafted: dict[str, int]
    """Drafted tokens by corpus."""
    accepted: dict[str, int]
    """Of these, the ones that verification accepted."""
    draft_us: float
    """Median time to propose one draft, in microseconds."""
    verify: list[WidthTime]
    first_token_ms: float
    """From the request's start in the engine to the first token, prefill included."""
    decode_ms: float
    """From the first token to the last."""
    tokens_per_s: float
    tokens_per_s_copied: float
    tokens_per_s_novel: float
    stop_reason: str
    """"end", "format" (the answer was complete), "stop" (a stop string), "length", "context" or
    "cancelled"."""
    read_write_ratio: float
    """Tokens read for every token written."""
    redecoded: int
    """Tokens decoded again one by one, in strict mode."""
    smallest_margin: float | None
    """Smallest margin (see `Generation.margins`) of all tokens; None where none was written."""


class EditResult(Message, tag="edit"):
    """The rewritten region, in the document's own line ends."""

    text: str
    """What stands in place of the region's lines."""
    diff: str
    """Unified diff of the document, three lines of context; empty: nothing to change."""
    spans: list[Span]
    """Where the parts of `text` came from; they cover it in order."""
    stats: RequestStats
    answer: str
    """All that the model wrote, fence included."""
    margins: list[float] = []


class ExplainResult(Message, tag="explain"):
    """The whole explanation."""

    text: str
    """Markdown."""
    spans: list[Span]
    stats: RequestStats
    margins: list[float] = []


class CompleteResult(Message, tag="complete"):
    """What is to be put in at the place asked for; nothing where `text` is empty."""

    text: str
    """In the document's own line ends."""
    spans: list[Span]
    stats: RequestStats
    margins: list[float] = []


class ChatResult(Message, tag="chat"):
    """The next message of a conversation."""

    text: str
    """Its content: the text of all deltas, and perhaps more behind it."""
    calls: list[ToolCall]
    spans: list[Span]
    """Where the parts of `answer` came from."""
    stats: RequestStats
    answer: str
    """All that the model wrote, thinking and calls included."""
    margins: list[float] = []


class Prepared(Message, tag="prepared"):
    """The end of a `PrepareRequest`."""

    prompt_tokens: int
    """Tokens that the model has read now of the prompt to come."""
    reused: int
    """Of these, found in the prefix cache."""


class Failed(Message, tag="failed"):
    """The request ended without a result. `partial` is what had been written by then."""

    code: str
    message: str
    hint: str
    partial: str = ""

    @classmethod
    def of(cls, error: CopydraftError, partial: str = "") -> Failed:
        return cls(code=error.code, message=error.message, hint=error.hint, partial=partial)

    def error(self) -> CopydraftError:
        return from_wire(self.code, self.message, self.hint)


Result = EditResult | ExplainResult | CompleteResult | ChatResult | Prepared
Event = Queued | Loading | Prefill | Notice | Delta | Result | Failed


def decode_event(data: bytes | str) -> Event:
    return msgspec.json.decode(data, type=Event)
