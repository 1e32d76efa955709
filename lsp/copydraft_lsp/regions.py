"""Lines of a document that a model rewrites, followed while their editor goes on."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple, Self

from lsprotocol import types

from copydraft.errors import FileChanged
from copydraft.textedits import minimal_edits
from copydraft_lsp.convert import Encoding, position
from copydraft_lsp.documents import Document, LineChange

_AGAIN = "ask again"
_BOM = "\ufeff"


class Where(NamedTuple):
    """Lines [start, end) of a document in one of its versions."""

    uri: str
    version: int
    start: int
    end: int


class TrackedRegion:
    """Lines [start, end) of a document; a context, within which they are followed.

    Changes above move them, changes below do not matter, and a change in them is a loss: what the
    model was shown is no longer there.
    """

    def __init__(self, document: Document, start: int, end: int) -> None:
        self.document = document
        self.start = start
        self.end = end
        self.text = "".join(document.lines[start:end])
        """What the model was shown, but for the document's byte order mark."""
        self._mark = _BOM if start == 0 and self.text.startswith(_BOM) else ""
        self.lost: FileChanged | None = None
        self.on_loss: Callable[[FileChanged], None] | None = None
        """Told once, when the region is lost."""

    def __enter__(self) -> Self:
        self.document.listeners.add(self._follow)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.document.listeners.discard(self._follow)

    @property
    def where(self) -> Where:
        """Where the lines are now."""
        return Where(self.document.uri, self.document.version, self.start, self.end)

    def edits(self, new: str, encoding: Encoding) -> list[types.TextEdit]:
        """Minimal edits of the document as it is now that put `new` in place of the region.

        The document's byte order mark stays; `new` has none.

        Raises:
            FileChanged: the lines are no longer what the model was shown.
        """
        if self.lost:
            raise self.lost
        lines = self.document.lines[self.start : self.end]
        if "".join(lines) != self.text:
            raise _changed()
        ends = self.document.ends
        return [
            types.TextEdit(
                types.Range(
                    position(lines, edit.start, encoding, first=self.start, ends=ends),
                    position(lines, edit.end, encoding, first=self.start, ends=ends),
                ),
                edit.text,
            )
            for edit in minimal_edits(self.text, self._mark + new)
        ]

    def _follow(self, change: LineChange | None) -> None:
        if change is None:
            # A rename is a close and an open to a server, in either order: it cannot be followed.
            why = "the document was closed or renamed while the model wrote"
            self._lose(FileChanged(why, _AGAIN))
        elif change.start + len(change.old) <= self.start:
            shift = len(change.new) - len(change.old)
            self.start += shift
            self.end += shift
        elif change.start < self.end:
            self._lose(_changed())

    def _lose(self, why: FileChanged) -> None:
        if self.lost is None:
            self.lost = why
            if self.on_loss:
                self.on_loss(why)


def _changed() -> FileChanged:
    return FileChanged("the selected lines were changed while the model wrote", _AGAIN)
