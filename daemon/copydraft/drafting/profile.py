"""What a kind of request is like, measured beforehand: where its drafts begin to learn from.

Defaults were learned from the development edits and recorded answers (`copydraft profile` makes
such a profile of a user's own repository, and the daemon keeps it in its database).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Annotated

import msgspec


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of request."""

    weights: dict[str, float] = {}
    """Of `survival.Survival`, by name."""
    passes: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    """Passes for each token written."""
    drafted: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Tokens drafted for each token written."""
    cap: Annotated[int, msgspec.Meta(ge=1)] = 64
    """Longest draft to begin with, in tokens."""


Profiles = dict[str, Profile]
"""By kind of request."""


@cache
def defaults() -> Profiles:
    """The profiles that are shipped."""
    data = files("copydraft.drafting").joinpath("profiles.json").read_bytes()
    return msgspec.json.decode(data, type=Profiles)


_LIKE = {"chat": "edit"}
"""Kinds without a measurement of their own: what agents ask for is mostly edits."""


def profile_of(kind: str, measured: Profiles) -> Profile:
    """The profile to begin with: measured, else shipped, else of nothing."""
    return measured.get(kind) or defaults().get(_LIKE.get(kind, kind)) or Profile()
