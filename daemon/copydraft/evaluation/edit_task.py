"""One edit of a repository's history, to be made again by a model."""

from __future__ import annotations

import msgspec


class EditTask(msgspec.Struct, frozen=True, kw_only=True):
    """A real edit of one region: lines [start, end) of `file`, 0-based, became `after`."""

    repo: str
    commit: str
    path: str
    instruction: str
    start: int
    end: int
    before: str
    after: str
    file: str
    """The whole text before the edit."""
