"""What was changed in a workspace lately: pieces of text, old and new, as files came to differ.

Found by comparing a file's text with the one seen before, so a file must have been seen once. Time
is only told, never compared: clocks jump.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, NamedTuple

from copydraft.secret_names import has_private_key
from copydraft.textedits import changes, split_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_EDITS = 64
_MOST_CHARACTERS = 16_000_000
"""Of all texts that are remembered to compare with."""
_MOST_CHANGES = 20
_MOST_LINES = 60
"""More changes in a file, or longer ones, are a formatter's or another branch, not an edit."""


class RecentEdit(NamedTuple):
    """Lines that took the place of others."""

    path: str
    line: int
    """Where the new text begins, 0-based, when it was written."""
    old: str
    new: str
    time: float
    """Seconds since 1970."""


class RecentEdits:
    """The edits of one workspace, but for texts with private keys. Safe in any thread."""

    def __init__(self) -> None:
        self._edits: deque[RecentEdit] = deque(maxlen=_MOST_EDITS)
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def latest(self, most: int = _MOST_EDITS) -> Sequence[RecentEdit]:
        """The last edits, newest first."""
        with self._lock:
            return list(self._edits)[: -most - 1 : -1]

    def seen(self, path: str, text: str, time: float) -> None:
        """The file has this text now; what differs from the last time was edited."""
        if has_private_key(text):
            self.forget(path)
            return
        with self._lock:
            old = self._texts.get(path)
            if old is not None and old != text:
                self._note(path, old, text, time)
            self._remember(path, text)

    def first_seen(self, path: str, text: str) -> None:
        """Compare later texts with this one, if nothing is known of the file yet."""
        with self._lock:
            if path not in self._texts and not has_private_key(text):
                self._remember(path, text)

    def forget(self, path: str) -> None:
        """The file is gone."""
        with self._lock:
            self._characters -= len(self._texts.pop(path, ""))

    def _remember(self, path: str, text: str) -> None:
        self._characters += len(text) - len(self._texts.pop(path, ""))
        self._texts[path] = text
        while self._characters > _MOST_CHARACTERS:
            _, dropped = self._texts.popitem(last=False)
            self._characters -= len(dropped)

    def _note(self, path: str, old: str, new: str, time: float) -> None:
        old_lines, new_lines = split_lines(old), split_lines(new)
        found = changes(old_lines, new_lines)
        if len(found) > _MOST_CHANGES:
            return
        for change in found:
            before = old_lines[change.old_start : change.old_end]
            after = new_lines[change.new_start : change.new_end]
            if max(len(before), len(after)) <= _MOST_LINES:
                self._add(RecentEdit(path, change.new_start, "".join(before), "".join(after), time))

    def _add(self, edit: RecentEdit) -> None:
        """Keep an edit; one that goes on with the last one becomes one with it."""
        last = self._edits[-1] if self._edits else None
        if last and (last.path, last.line, last.new) == (edit.path, edit.line, edit.old):
            self._edits.pop()
            edit = edit._replace(old=last.old)
        if edit.old != edit.new:
            self._edits.append(edit)
