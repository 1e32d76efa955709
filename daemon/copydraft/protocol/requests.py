"""What clients ask of the daemon."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from copydraft.protocol.message import EditFormat, Message

_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Sampling(Message):
    """How the next token is picked; temperature 0 is greedy and ignores the rest."""

    temperature: Annotated[float, msgspec.Meta(ge=0, le=100)] = 0.0
    top_k: int = 40
    """0 or less: all tokens."""
    top_p: _Share = 0.95
    min_p: _Share = 0.05
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0


class Generation(Message):
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
    """Report by how much every token won: how far two logits may stray from one another, drawn or
    greedy, without changing it."""
    agent: str = ""
    """Name of the calling agent, kept in the statistics."""
    workspace: str = ""
    """Root of the caller's workspace, absolute: its files, open documents and earlier answers are
    drafted from, and no other's. Empty: none."""
    file_context: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Most tokens of the document shown around what is asked about; 0: as the daemon is set."""


class Region(Message):
    """Whole lines of a document."""

    path: str
    """Shown to the model and in spans; never opened by the daemon."""
    text: str
    """The whole document, byte order mark removed, line ends as they are."""
    start: int
    end: int
    """Lines [start, end) of `text.splitlines(keepends=True)` by `\\n`, `\\r\\n` and `\\r` only."""


class EditRequest(Message):
    """Rewrite a region by an instruction."""

    region: Region
    instruction: str
    prediction: str = ""
    """The region as the caller expects it to become: one more source of drafts."""
    format: EditFormat | Literal[""] = ""
    """Empty: the one in the daemon's settings."""
    generation: Generation = Generation()


class Turn(Message):
    """An earlier question about a region, and what the model answered."""

    question: str
    answer: str


class ExplainRequest(Message):
    """Explain a region, or answer a question about it."""

    region: Region
    question: str = ""
    turns: list[Turn] = []
    """The conversation so far, the oldest first; the question of the first may be empty."""
    generation: Generation = Generation()


class CompleteRequest(Message):
    """Write what belongs between the text before a place and the text behind it."""

    path: str
    """Shown to the model and in spans; never opened by the daemon."""
    text: str
    """The whole document, byte order mark removed, line ends as they are."""
    offset: Annotated[int, msgspec.Meta(ge=0)]
    """The place, in code points from the start of the text."""
    generation: Generation = Generation()


class ToolCall(Message):
    """What the model wants a client to do."""

    id: str
    name: str
    arguments: str
    """A JSON object, as text."""


class ChatMessage(Message):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    calls: list[ToolCall] = []
    """Of the assistant."""
    answers: str = ""
    """Id of the call that a tool's message is the result of."""


class Tool(Message):
    """What a client offers to do for the model."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    """JSON schema of an object."""


class ChatRequest(Message):
    """Write the next message of a conversation."""

    messages: Annotated[list[ChatMessage], msgspec.Meta(min_length=1)]
    tools: list[Tool] = []
    must_call: bool = False
    """The message is to be a call of one of the tools."""
    prediction: str = ""
    """The answer as the caller expects it, or a part of it: one more source of drafts."""
    generation: Generation = Generation()


class PrepareRequest(Message):
    """Read the part of a prompt that is known before its instruction or question is.

    Gives way to every other request; nothing is written.
    """

    region: Region
    kind: Literal["edit", "explain"]
    format: EditFormat | Literal[""] = ""
    generation: Generation = Generation()


class TextChange(Message):
    """Put `text` in the place of the characters [start, end), which are code points."""

    start: int
    end: int
    text: str


class DocumentOpened(Message, tag="open"):
    """A document is open in an editor, or all of its text is sent anew."""

    name: str
    """Path below the workspace's root with slashes, or what a document without a file is called."""
    version: int
    text: str


class DocumentChanged(Message, tag="change"):
    """Changes, one after the other, each in the text that the one before left."""

    name: str
    version: int
    changes: list[TextChange]


class DocumentClosed(Message, tag="close"):
    """The file counts again."""

    name: str


DocumentUpdate = DocumentOpened | DocumentChanged | DocumentClosed


class DocumentUpdates(Message):
    """What happened to open documents of a workspace, in order."""

    workspace: str
    """Root, absolute."""
    owner: Annotated[int, msgspec.Meta(gt=0)]
    """Process that has the documents open, as its id; they are closed when it is gone."""
    updates: list[DocumentUpdate]
