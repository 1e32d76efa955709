"""What the daemon does not yet have of one open document."""

from __future__ import annotations

from collections.abc import Callable

from copydraft.protocol import DocumentChanged, DocumentOpened, TextChange
from copydraft_lsp.documents import Document, LineChange
from copydraft_lsp.places import Place

LARGEST_CHARACTERS = 1 << 20
"""A larger document was made by a program, or is data: it is not sent."""

_MOST_CHANGES = 1000
"""With more that wait, all of the text is quicker."""

_BOM = "\ufeff"


class Outbox:
    """Collects the changes of a document until they are taken away to be sent."""

    def __init__(self, document: Document, woken: Callable[[Outbox], None]) -> None:
        """`woken` is told when there is something to send, or the document was closed."""
        self.document = document
        self.sent: Place | None = None
        """Where the daemon has the document; None: it has nothing of it."""
        self.closed = False
        self._whole = True
        """The daemon needs all of the text."""
        self._changes: list[TextChange] = []
        self._sent_version = 0
        self._size = sum(map(len, document.lines))
        self._woken = woken
        document.listeners.add(self._note)

    @property
    def is_large(self) -> bool:
        return self._size > LARGEST_CHARACTERS

    def lose(self) -> None:
        """The daemon has another text, or none: send all of it next time."""
        self._whole = True
        self._changes.clear()

    def take(self, place: Place) -> DocumentOpened | DocumentChanged | None:
        """The update to be sent now, as sent; None: there is none, or it cannot be sent."""
        document = self.document
        if place != self.sent or (self._changes and document.version <= self._sent_version):
            self.lose()
        if not document.in_step or not (self._whole or self._changes):
            return None
        update: DocumentOpened | DocumentChanged
        if self._whole:
            text = document.text.removeprefix(_BOM)
            if not _can_be_sent(text):
                return None
            update = DocumentOpened(name=place.name, version=document.version, text=text)
        else:
            update = DocumentChanged(
                name=place.name, version=document.version, changes=self._changes
            )
        self.sent, self._whole, self._changes = place, False, []
        self._sent_version = document.version
        return update

    def _note(self, change: LineChange | None) -> None:
        if change is None:
            self.closed = True
            self.document.listeners.discard(self._note)
        else:
            self._size += sum(map(len, change.new)) - sum(map(len, change.old))
            self._add(change)
        self._woken(self)

    def _add(self, change: LineChange) -> None:
        if self._whole:
            return
        old, new = "".join(change.old), "".join(change.new)
        start = sum(map(len, self.document.lines[: change.start]))
        if change.start == 0:
            old, new = old.removeprefix(_BOM), new.removeprefix(_BOM)
        elif self.document.lines[0].startswith(_BOM):
            start -= 1
        if (
            not self.document.in_step
            or self._moves_mark(change)
            or not _can_be_sent(new)
            or len(self._changes) == _MOST_CHANGES
        ):
            self.lose()
        else:
            self._changes.append(TextChange(start=start, end=start + len(old), text=new))

    def _moves_mark(self, change: LineChange) -> bool:
        """Whether lines come or go in front of a byte order mark: it becomes text, or was text."""
        if change.start > 0 or (change.old and change.new):
            return False
        behind = len(change.new)
        return any(line.startswith(_BOM) for line in self.document.lines[behind : behind + 1])


def _can_be_sent(text: str) -> bool:
    """Whether UTF-8 can express it: editors may send halves of a character."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
