"""Everything that crosses the socket: requests in, events out. Imports nothing of ours but errors.

Requests are JSON bodies; answers of any length are server-sent events, each one `Event` as JSON
with its kind under "type". Line numbers are 0-based with the end exclusive here; people see them
1-based with both ends included (the CLI converts). Offsets into text count Unicode code points.
"""

from __future__ import annotations

from typing import Annotated, Literal, dataclass_transform

import msgspec

from copydraft.errors import CopydraftError, VersionMismatch, from_wire

PROTOCOL_VERSION = 1
"""Raised whenever an old client and a new daemon, or the reverse, could misunderstand."""

VERSION_HEADER = "Copydraft-Protocol"
"""Every request and every response carries the version of its sender under this name."""

Kind = Literal["edit", "explain", "complete", "chat"]

EditFormat = Literal["fence", "search-replace", "unified-diff", "tool-call", "plain"]
"""How the model writes an edit: `copydraft.emission` has one module for each."""


# Said again for type checkers: to them, a subclass does not inherit these two from its base.
@dataclass_transform(frozen_default=True, kw_only_default=True)
class _Message(msgspec.Struct, frozen=True, kw_only=True):
    """Wire messages are immutable, named, and strict about types."""


# --- requests -------------------------------------------------------------------------------


class Sampling(_Message):
    """How the next token is picked; temperature 0 is greedy and ignores the rest."""

    temperature: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0


class Generation(_Message):
    """What every request may choose about decoding."""

    model: str = ""
    """Name or path; empty: the model in the daemon's settings."""
    max_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Most tokens to write; 0: what the request's kind and the context allow."""
    stop: list[str] = []
    """Strings that end the answer and are not part of it."""
    sampling: Sampling = Sampling()
    draft: bool = True
    strict: bool = False
    margins: bool = False
    """Report by how much every token won: its lead over the second in logits or, where it was
    drawn, the distance of the draw from the next token's share of the probability."""
    agent: str = ""
    """Name of the calling agent, kept in the statistics."""
    workspace: str = ""
    """Root of the caller's workspace: its earlier answers are drafted from, in it alone. Empty:
    none."""


class Region(_Message):
    """Whole lines of a document."""

    path: str
    """Shown to the model and in spans; never opened by the daemon."""
    text: str
    """The whole document, byte order mark removed, line ends as they are."""
    start: int
    end: int
    """Lines [start, end) of `text.splitlines(keepends=True)` by `\\n`, `\\r\\n` and `\\r` only."""


class EditRequest(_Message):
    """Rewrite a region by an instruction."""

    region: Region
    instruction: str
    prediction: str = ""
    """The region as the caller expects it to become: one more source of drafts."""
    format: EditFormat | Literal[""] = ""
    """Empty: the one in the daemon's settings."""
    generation: Generation = Generation()


class ExplainRequest(_Message):
    """Explain a region, or answer a question about it."""

    region: Region
    question: str = ""
    generation: Generation = Generation()


# --- events ---------------------------------------------------------------------------------


class Span(_Message):
    """Part [start, end) of a text, and where it was copied from; corpus "" is newly written."""

    start: int
    end: int
    corpus: str = ""
    path: str = ""


class Queued(_Message, tag="queued"):
    """Other requests run first; `ahead` counts them."""

    ahead: int


class Loading(_Message, tag="loading"):
    """The daemon reads the model from disk; `share` runs from 0 to 1."""

    model: str
    share: float


class Prefill(_Message, tag="prefill"):
    """The model reads the prompt: `done` of `total` tokens, `reused` of them kept from before."""

    done: int
    total: int
    reused: int


class Notice(_Message, tag="notice"):
    """Something the user should know; the request goes on."""

    message: str


class Delta(_Message, tag="delta"):
    """More of the raw answer. Spans count from the start of this delta's text and cover it."""

    text: str
    spans: list[Span]
    tokens: int
    """Tokens written so far, these included."""


class WidthTime(_Message):
    """Passes of one width (tokens decoded together), and their time in all."""

    width: int
    passes: int
    ms: float


class RequestStats(_Message):
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


class EditResult(_Message, tag="edit"):
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


class ExplainResult(_Message, tag="explain"):
    """The whole explanation."""

    text: str
    """Markdown."""
    spans: list[Span]
    stats: RequestStats
    margins: list[float] = []


class Failed(_Message, tag="failed"):
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


Event = Queued | Loading | Prefill | Notice | Delta | EditResult | ExplainResult | Failed
Result = EditResult | ExplainResult


# --- status ---------------------------------------------------------------------------------


class ModelStatus(_Message):
    """The model in memory."""

    name: str
    path: str
    architecture: str
    memory_kind: str
    context: int
    device: str
    """The device really used, as llama.cpp names it."""
    size_bytes: int
    cost: dict[int, float]
    """Measured cost of a pass by width, relative to width 1."""
    pass_ms: float
    """Time of a pass of width 1 when the cost was measured."""


class Status(_Message):
    """The daemon at one moment."""

    version: str
    protocol: int
    pid: int
    uptime_s: float
    socket: str
    model: ModelStatus | None
    resident_bytes: int
    """Resident memory of the daemon's process."""
    active: int
    """Requests being decoded."""
    waiting: int
    clients: int
    """Connections that are open, the one that asked included."""
    requests: int
    """Requests ended since the daemon started."""
    tokens_per_s: float
    """Of the last request."""
    acceptance: float
    """Accepted share of drafted tokens since the daemon started."""
    idle_unload_s: float | None
    """The model leaves memory after so long without a request; None: never."""
    idle_exit_s: float | None
    """The daemon exits after so long without a client; None: never."""


class Peer(_Message):
    """What a client of any version may know of a daemon: these fields of `Status` never change."""

    version: str
    protocol: int
    pid: int
    active: int
    waiting: int


def version_mismatch(*, client: int, daemon: int) -> VersionMismatch:
    """The fault of a client and a daemon that speak different versions of this protocol."""
    return VersionMismatch(
        f"this client speaks version {client} of the protocol, the daemon version {daemon}",
        "the daemon is older: run `copydraft daemon restart`"
        if daemon < client
        else "the client is older: update copydraft there, then restart the editor",
    )


# --- statistics -----------------------------------------------------------------------------


class Usage(_Message):
    """Sums over requests; `name` is the kind, model or day (ISO, local time) that they share."""

    name: str
    requests: int
    prompt_tokens: int
    reused_tokens: int
    output_tokens: int
    copied_tokens: int
    copied_share: float
    """Copied of all output tokens; 0 if there are none."""
    passes: int
    drafted: dict[str, int]
    """Drafted tokens by corpus."""
    accepted: dict[str, int]
    decode_ms: float
    tokens_per_s: float
    """All output tokens over all decoding time; 0 if there is none."""


class StatsReport(_Message):
    """The statistics, summed in several ways."""

    days: int | None
    """Days that are covered, today included; None: all since the statistics were begun."""
    total: Usage
    by_kind: list[Usage]
    by_model: list[Usage]
    """The most used first, as in `by_kind`."""
    by_day: list[Usage]
    """The oldest first; days without a request are left out."""


class Unloaded(_Message):
    """Answer to `POST /v1/unload`."""

    freed: bool
    """False if no model was loaded."""


def encode(message: msgspec.Struct) -> bytes:
    return msgspec.json.encode(message)


def decode_event(data: bytes | str) -> Event:
    return msgspec.json.decode(data, type=Event)
