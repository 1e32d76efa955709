"""What a check of the doctor says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

State = Literal["ok", "warning", "problem"]


class Finding(msgspec.Struct, frozen=True):
    """The outcome of one check; `remedy` is empty where nothing has to be done."""

    check: str
    state: State
    message: str
    remedy: str = ""


Check = Callable[[], Iterator[Finding]]
"""Yields findings; a fault that it meets in our own code becomes one too."""
