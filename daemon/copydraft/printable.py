"""Text from files and models, made safe to print."""

from __future__ import annotations

_SHOWN = (
    {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"}
    | {0x7F: "\u2421"}
    # The second set of control characters has no pictures of its own.
    | {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
)


def printable(text: str) -> str:
    """`text` with its control characters to be seen, which a terminal would obey."""
    return text.translate(_SHOWN)
