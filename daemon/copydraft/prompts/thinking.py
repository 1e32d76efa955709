"""What some models write before their answer, and nobody is to read."""

from __future__ import annotations

_THINKING, THOUGHT = "<think>", "</think>"


def start_of_answer(text: str, *, ended: bool = False) -> int:
    """Where the answer begins behind thinking and blanks; the end while that may still go on.

    Nothing comes after a text that has `ended`: "<" is then an answer, not the start of a tag.
    """
    start = _first_visible(text, 0)
    if text.startswith(_THINKING, start):
        end = text.find(THOUGHT, start)
        return len(text) if end < 0 else _first_visible(text, end + len(THOUGHT))
    return len(text) if not ended and _THINKING.startswith(text[start:]) else start


def _first_visible(text: str, start: int) -> int:
    return len(text) - len(text[start:].lstrip())
