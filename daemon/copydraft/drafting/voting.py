"""Which of several equally long matches to copy from, and how far they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeVar


class Continued(Protocol):
    """A place in a text, which goes on with a token."""

    @property
    def following(self) -> int: ...


Place = TypeVar("Place", bound=Continued)


def elect(matches: Sequence[Place]) -> tuple[Place, str]:
    """The first match that goes on as most of them do, and what share of them that is.

    The share is "single", "all", "most" or "few". `matches` must not be empty; the likelier come
    first.
    """
    votes = Counter(match.following for match in matches)
    most = max(votes.values())
    chosen = next(match for match in matches if votes[match.following] == most)
    if len(matches) == 1:
        share = "single"
    elif most == len(matches):
        share = "all"
    else:
        share = "most" if 2 * most > len(matches) else "few"
    return chosen, share
