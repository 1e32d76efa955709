"""Answers that are no edit: placeholders instead of code, and endless repetition."""

from __future__ import annotations

import re
from collections import deque
from operator import ge
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMENT = re.compile(
    r"""\s*(?:\#+|//+|--+|;+|%+|/\*+|<!--+|\{/\*|\(\*|\"{3}|'{3}|REM\b)\s*
    (?P<text>.*?)\s*(?:\*+/\}?|--+>|\*\)|\"{3}|'{3})?\s*$""",
    re.VERBOSE,
)
_CODE = (
    r"(?:code|implementation|functions?|methods?|class|file|lines|logic|body|contents?|imports?"
    r"|tests?|fields|properties|definitions?|statements|stuff|region|block|part|section)"
)
_LEFT_OUT = re.compile(
    rf"""(?:the\ )?(?:rest|remainder)\ of\ .*{_CODE}\b.*
    | (?:the\ )?(?:remaining|existing|previous|original|other|same|unchanged)\ (?:\w+\ )?{_CODE}
      (?:\ (?:here|unchanged|above|below|omitted|as\ before|goes\ here
      |(?:remains?|is|are|stays?)\b.*))?
    | .*{_CODE}\ (?:remains?|is|are|stays?|left)\ (?:unchanged|the\ same|as\ is|omitted)
    | (?:no\ changes?(?:\ (?:here|needed|required))?|unchanged|same\ as\ (?:before|above)
      |as\ before)
    | .*\bomitted\ for\ brevity
    | (?:your|add|put)\ .*\bcode\ (?:goes\ )?here""",
    re.VERBOSE | re.IGNORECASE,
)
_LEFT_OUT_WITH_DOTS = re.compile(
    r".*\b(?:rest|remainder|remaining|existing|previous|original|other|same|unchanged|omitted"
    r"|as before|continues?|code)\b.*",
    re.IGNORECASE,
)
_DOTS = (["..."], ["…"])


def placeholder(new: Sequence[str], old: Sequence[str]) -> str | None:
    """The first line of `new`, not in `old`, that stands for code left out.

    A bare `...` is code in Python and elsewhere, but not in the place of several lines.
    """
    known = {line.strip() for line in old}
    if [line.strip() for line in new if line.strip()] in _DOTS and len(known - {""}) > 1:
        return "..."
    for line in new:
        if line.strip() not in known and _is_placeholder(line):
            return line.strip()
    return None


def _is_placeholder(line: str) -> bool:
    comment = _COMMENT.match(line)
    # Brackets around the words are decoration, and so are dots.
    text = (comment["text"] if comment else line).strip(" ()[]{}<>:*\t\r\n")
    words = text.strip(" .…")
    begins, ends = (text.startswith(("...", "…")), text.endswith(("...", "…")))
    if not words:
        return comment is not None and begins
    if begins or (comment and ends):
        return _LEFT_OUT_WITH_DOTS.fullmatch(words) is not None
    return comment is not None and _LEFT_OUT.fullmatch(words) is not None


class Endless:
    """Notices while an answer is written that it repeats itself and will not end.

    Lines that come again and again in the text being rewritten may do so in the answer.
    """

    _LINES = 40
    """Lines in repetition, at least four rounds, beyond what the text itself has."""
    _CHARS = 1600
    """The same inside one line, and how often a long line is looked at."""

    def __init__(self, text: str = "") -> None:
        self.found = False
        lines = text.split("\n")
        known = _Runs()
        most = [0] * len(known.lengths)
        for line in lines:
            known.take(line)
            most = [max(pair) for pair in zip(most, known.lengths, strict=True)]
        self._limits = [run + max(self._LINES, 4 * p) for p, run in enumerate(most, 1)]
        self._longest_line = max(map(len, lines)) + self._CHARS
        self._runs = _Runs()
        self._rest = ""
        self._looked_at = 0

    def feed(self, delta: str) -> bool:
        """Take more of the answer; True from the moment that it is endless."""
        *whole, self._rest = (self._rest + delta).split("\n")
        for line in whole:
            self._runs.take(line)
            self._looked_at = 0
            self.found |= any(map(ge, self._runs.lengths, self._limits))
        if len(self._rest) >= self._looked_at + self._CHARS:
            self._looked_at = len(self._rest)
            too_long = len(self._rest) > self._longest_line
            self.found |= too_long and _repeats(self._rest[-self._CHARS :])
        return self.found


class _Runs:
    """For every period of 1 to 32 lines: how many lines in a row equal the one a period before."""

    _LONGEST = 32

    def __init__(self) -> None:
        self.lengths = [0] * self._LONGEST
        self._lines: deque[str] = deque(maxlen=self._LONGEST)

    def take(self, line: str) -> None:
        same = [line == earlier for earlier in reversed(self._lines)]
        same += [False] * (self._LONGEST - len(same))
        self.lengths = [run + 1 if s else 0 for run, s in zip(self.lengths, same, strict=True)]
        self._lines.append(line)


def _repeats(text: str) -> bool:
    """`text` is one short string over and over."""
    period = text.find(text[:64], 1)
    return 0 < period <= len(text) // 6 and text[period:] == text[:-period]
