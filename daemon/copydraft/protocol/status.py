"""What the daemon says of itself: its status now, and its statistics."""

from __future__ import annotations

from copydraft.protocol.events import RequestStats, Span
from copydraft.protocol.message import Kind, Message


class ModelStatus(Message):
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
    completes: bool
    """Whether its vocabulary has the tokens for completing in the middle of a text."""


class WorkspaceStatus(Message):
    """What is known of a workspace that editors or requests named."""

    root: str
    open_documents: int
    workspace_tokens: int
    """Indexed of its files as they are on the disk, for the loaded model; 0 without one. Open
    documents, which stand for their files, are not counted."""
    global_tokens: int
    """Indexed of the libraries that it uses."""
    indexing: bool
    """Whether some of it is being read."""


class ApiStatus(Message):
    """The port for coding agents; nothing is said where the setting `api_port` is 0."""

    url: str = ""
    """What clients call their base URL; empty where nothing listens."""
    problem: str = ""
    """Why nothing listens although it should."""


class Status(Message):
    """The daemon at one moment."""

    version: str
    protocol: int
    pid: int
    uptime_s: float
    socket: str
    model: ModelStatus | None
    workspaces: list[WorkspaceStatus]
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
    api: ApiStatus = ApiStatus()


class Peer(Message):
    """What a client of any version may know of a daemon: these fields of `Status` never change."""

    version: str
    protocol: int
    pid: int
    active: int
    waiting: int


class Usage(Message):
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


class StatsReport(Message):
    """The statistics, summed in several ways."""

    days: int | None
    """Days that are covered, today included; None: all since the statistics were begun."""
    total: Usage
    by_kind: list[Usage]
    by_model: list[Usage]
    """The most used first, as in `by_kind`."""
    by_day: list[Usage]
    """The oldest first; days without a request are left out."""


class LastAnswer(Message):
    """The edit, explanation or chat's answer that was written last, or is being written.

    It is never on disk.
    """

    kind: Kind
    path: str
    text: str
    """What the model has written so far; at the end, the region's new lines, the Markdown, or all
    that it wrote in a chat."""
    spans: list[Span]
    """Where the parts of `text` came from; they cover it in order."""
    tokens: int
    """Written so far."""
    tokens_per_s: float
    """So far, from the first token on; 0 before there are two moments to compare."""
    stats: RequestStats | None
    """None while it is being written."""


class WebAddress(Message):
    """Answer to `POST /v1/web`."""

    url: str
    """Opens the statistics page once; the browser that did so may then load it again."""
    expires_s: float
    """The address is refused after that long."""


class Unloaded(Message):
    """Answer to `POST /v1/unload`."""

    freed: bool
    """False if no model was loaded."""


class DocumentsTaken(Message):
    """Answer to `DocumentUpdates`."""

    pid: int
    """The daemon's process: where it is another than last time, it knows no earlier documents."""
    resend: list[str]
    """Documents whose changes did not fit: send all of their text."""
