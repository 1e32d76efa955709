"""What the API needs of the scheduler, and what the scheduler needs of the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from copydraft.protocol import (
    ChatRequest,
    CompleteRequest,
    DocumentUpdates,
    EditRequest,
    Event,
    ExplainRequest,
    ModelStatus,
    PrepareRequest,
    WorkspaceStatus,
)

Request = EditRequest | ExplainRequest | CompleteRequest | ChatRequest | PrepareRequest

Emit = Callable[[Event], None]


class ServingStatus(NamedTuple):
    """The scheduler at one moment."""

    model: ModelStatus | None
    active: int
    """Requests being decoded."""
    waiting: int
    requests: int
    """Requests ended since the start."""
    tokens_per_s: float
    """Of the last request."""
    acceptance: float
    """Accepted share of drafted tokens since the start; 0 before the first."""
    workspaces: list[WorkspaceStatus]
    idle_since: float | None
    """`time.monotonic()` when the last request ended (or of the start); None while busy."""


class Ticket(Protocol):
    """A request that was handed in."""

    def cancel(self) -> None:
        """End the request with Failed(code "cancelled"); nothing happens if it has ended.

        Any thread may call it, any number of times.
        """
        ...


class Service(Protocol):
    """Runs requests, one model at a time; any thread may call its methods."""

    def submit(self, request: Request, emit: Emit) -> Ticket:
        """Queue a request and return at once.

        Edits, explanations and chats come first, then completions; what is prepared gives way to
        all others. Such a request is ended with Failed(code "cancelled") where another takes its
        place.
        `emit` is called from the engine's thread, in order; the last event is a Result or Failed.
        """
        ...

    def documents(self, updates: DocumentUpdates) -> list[str]:
        """Take in what an editor did; the documents of which it is to send all of the text.

        Raises:
            BadRequest: the workspace is no absolute path.
        """
        ...

    def snapshot(self) -> ServingStatus: ...

    def unload(self) -> bool:
        """Free the model once no request runs, blocking until then; False if none was loaded."""
        ...

    def stop(self) -> None:
        """End all requests with Failed(code "cancelled"), free the model, join the thread."""
        ...


class CostStore(Protocol):
    """Keeps measured costs of a pass between runs; called from the engine's thread."""

    def load_cost(self, key: str) -> dict[int, float] | None:
        """One number by width, or None if none were saved (or they cannot be read).

        Milliseconds of a pass; width 0 has the tie threshold (`Calibration.to_table`).
        """
        ...

    def save_cost(self, key: str, ms_by_width: dict[int, float]) -> None: ...


class ProfileStore(Protocol):
    """Keeps `drafting.profile.Profile` in JSON by kind of request; called as `CostStore` is."""

    def load_profiles(self) -> dict[str, bytes]:
        """All that are kept; none where they cannot be read."""
        ...

    def save_profile(self, kind: str, profile: bytes, *, was: bytes | None) -> None:
        """Replace the profile, if it is still what it `was` (None: there was none)."""
        ...


class NoCosts:
    """A `CostStore` that keeps nothing: costs are measured in every run."""

    def load_cost(self, key: str) -> dict[int, float] | None:  # noqa: ARG002  # the protocol's
        return None

    def save_cost(self, key: str, ms_by_width: dict[int, float]) -> None:
        pass
