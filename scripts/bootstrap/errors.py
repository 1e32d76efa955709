"""The one exception that ends a start."""

from __future__ import annotations


class SetupError(Exception):
    """Something is wrong on this machine; `hint` says what mends it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
