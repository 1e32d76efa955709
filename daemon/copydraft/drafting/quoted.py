"""Follow what an answer has just quoted, while it writes the new text in its place.

An edit by a call of a tool, or by a search/replace block, holds the old text and then the new one,
which mostly begins as the old one did. What stands right before it (`"new_text": `) stands in
earlier edits too, where it is followed by other texts: a longest match leads there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from copydraft.drafting.edit_cursor import EditCursor
from copydraft.tokens import Document, Quotation

_SHORTEST = 16
"""Tokens of a quotation that is worth following: a shorter one may be a path or a name."""


class QuotedText:
    """Reads the answer, and has a cursor while a quoted text is written anew."""

    def __init__(self, quotations: Sequence[Quotation]) -> None:
        self._old_before: defaultdict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
        """What may have opened the old text, by what opens the new one."""
        self._openings: defaultdict[int, list[tuple[int, ...]]] = defaultdict(list)
        """By their last token, the longer ones first."""
        for quotation in quotations:
            self._old_before[tuple(quotation.before_new)].add(tuple(quotation.before_old))
        openings = {tuple(tokens) for quotation in quotations for tokens in quotation if tokens}
        for opening in sorted(openings, key=len, reverse=True):
            self._openings[opening[-1]].append(opening)
        self._output: list[int] = []
        self._opened: tuple[int, ...] = ()
        """The latest opening, and where the text behind it begins."""
        self._start = 0
        self.cursor: EditCursor | None = None

    def append(self, tokens: Sequence[int]) -> None:
        if not self._openings:
            return
        for token in tokens:
            self._output.append(token)
            if self.cursor is not None:
                self.cursor.append((token,))
            if opening := self._opening():
                self._open(opening)

    def _opening(self) -> tuple[int, ...]:
        """The opening that the output ends with; () if none."""
        for opening in self._openings.get(self._output[-1], ()):
            if tuple(self._output[-len(opening) :]) == opening:
                return opening
        return ()

    def _open(self, opening: tuple[int, ...]) -> None:
        quoted = self._output[self._start : -len(opening)]
        follows = self._opened in self._old_before.get(opening, ())
        self.cursor = (
            EditCursor(Document("session", "", "output", quoted))
            if follows and len(quoted) >= _SHORTEST
            else None
        )
        self._opened, self._start = opening, len(self._output)
