"""The open documents, as their editor has them: lists of lines that are edited in place.

A change costs the lines that it touches and a shift of the list, whatever the document's size.
Who follows a document (`regions.py`) is told of every change as whole lines.

Client and server disagree where a change names a document that is not open, a line far behind the
end, or an older version. Such a document is out of step: requests for it are refused until the
client has sent the whole text again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from lsprotocol import types

from copydraft.textedits import changes as line_changes
from copydraft.textedits import split_lines
from copydraft_lsp.convert import ANY_END, Encoding, place

Listener = Callable[["LineChange | None"], None]
"""Told of each change; None: the document was closed or replaced, nothing in it is known."""

_DRIVE = re.compile(r"(file:/+)([a-zA-Z])(?=:)")
_NAMELESS = re.compile(r"file:/*$")


class LineChange(NamedTuple):
    """Lines [start, start + len(old)) were `old` and are `new`; both with their line ends."""

    start: int
    old: list[str]
    new: list[str]


class Document:
    """One open document."""

    def __init__(
        self, uri: str, language: str, version: int, text: str, ends: str = ANY_END
    ) -> None:
        self.uri = uri
        """As the client spells it."""
        self.language = language
        self.version = version
        self.ends = ends
        """What ends its lines: `ANY_END`, or the one character that the client goes by."""
        self.lines = self._split(text)
        self.in_step = True
        """False: the client's text may be another."""
        self.ambiguous = False
        """Two buffers without a name have the same URI."""
        self.changed_lines: tuple[int, int] | None = None
        """Lines [start, end) around what the last message changed; None: it was never changed."""
        self.listeners: set[Listener] = set()

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def change(
        self,
        version: int,
        changes: Sequence[types.TextDocumentContentChangeEvent],
        encoding: Encoding,
    ) -> None:
        """Make the client's `changes`, one after the other; positions are clamped."""
        if version < self.version:
            self.in_step = False
        self.version = version
        before, self.changed_lines = self.changed_lines, None
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                self._splice(change.range, change.text, encoding)
            else:
                self.replace(change.text)
        self.changed_lines = self.changed_lines or before

    def replace(self, text: str) -> bool:
        """Take `text` as the client's whole text, in step again; whether it was another."""
        self.in_step = True
        new = self._split(text)
        if new == self.lines:
            return False
        old, self.lines = self.lines, new
        change = _trimmed(0, old, new)
        self._mark(change)
        if self.listeners:
            for part in line_changes(change.old, change.new):
                self._tell(
                    LineChange(
                        change.start + part.new_start,
                        change.old[part.old_start : part.old_end],
                        change.new[part.new_start : part.new_end],
                    )
                )
        return True

    def forget(self) -> None:
        """Tell the listeners that the document is closed or another."""
        for listener in [*self.listeners]:
            listener(None)

    def _split(self, text: str) -> list[str]:
        if self.ends == ANY_END:
            return split_lines(text)
        *whole, rest = text.split(self.ends)
        return [line + self.ends for line in whole] + ([rest] if rest else [])

    def _splice(self, range_: types.Range, text: str, encoding: Encoding) -> None:
        lines = self.lines
        # The line behind the last is where editors put the end of the text.
        if max(range_.start.line, range_.end.line) > len(lines):
            self.in_step = False
        (a, head), (b, tail) = sorted(
            place(lines, end, encoding, self.ends) for end in (range_.start, range_.end)
        )
        before = lines[a][:head] if a < len(lines) else ""
        after = lines[b][tail:] if b < len(lines) else ""
        joined = before + text + after
        b = min(b + 1, len(lines))
        # A \r and a \n that come together are one line end.
        if joined.startswith("\n") and a > 0 and lines[a - 1].endswith("\r"):
            a -= 1
            joined = lines[a] + joined
        if joined.endswith("\r") and b < len(lines) and lines[b].startswith("\n"):
            joined += lines[b]
            b += 1
        change = _trimmed(a, lines[a:b], self._split(joined))
        lines[change.start : change.start + len(change.old)] = change.new
        if change.old or change.new:
            self._mark(change)
            self._tell(change)

    def _mark(self, change: LineChange) -> None:
        start, end = change.start, change.start + len(change.new)
        if self.changed_lines:
            start, end = min(start, self.changed_lines[0]), max(end, self.changed_lines[1])
        self.changed_lines = (start, end)

    def _tell(self, change: LineChange) -> None:
        for listener in [*self.listeners]:
            listener(change)


class DocumentStore:
    """All open documents by their URIs, however these are spelled."""

    def __init__(self) -> None:
        self.encoding: Encoding = types.PositionEncodingKind.Utf16
        """What was negotiated; set once, before the first document."""
        self.single_ends = False
        """Of Neovim: lines end at `\\n` or at `\\r`, and the other is a character like any."""
        self.on_open: Callable[[Document], None] | None = None
        """Told of each document that is taken in."""
        self._documents: dict[str, Document] = {}
        self._shared: set[str] = set()
        """Names that two buffers have had at once: which of them was closed is not known."""
        self._unknown: set[str] = set()
        """Names that changes were sent for though nothing is open under them."""

    def __iter__(self) -> Iterator[Document]:
        return iter([*self._documents.values()])

    def __len__(self) -> int:
        return len(self._documents)

    def get(self, uri: str) -> Document | None:
        return self._documents.get(_key(uri))

    def open(self, item: types.TextDocumentItem) -> Document:
        """Take a document in; one that is open under the URI already is replaced."""
        ends = ANY_END
        if self.single_ends:
            ends = "\r" if "\r" in item.text and "\n" not in item.text else "\n"
        document = Document(item.uri, item.language_id, item.version, item.text, ends)
        if before := self._documents.get(_key(item.uri)):
            before.forget()
            if _NAMELESS.match(item.uri):
                self._shared.add(_key(item.uri))
        document.ambiguous = _key(item.uri) in self._shared
        self._documents[_key(item.uri)] = document
        self._unknown.discard(_key(item.uri))
        if self.on_open:
            self.on_open(document)
        return document

    def change(
        self,
        named: types.VersionedTextDocumentIdentifier,
        changes: Sequence[types.TextDocumentContentChangeEvent],
    ) -> bool:
        """Make the client's changes; False: client and server disagree on it from now on."""
        document = self.get(named.uri)
        if document is None:
            is_news = _key(named.uri) not in self._unknown
            self._unknown.add(_key(named.uri))
            return not is_news
        was_in_step = document.in_step
        document.change(named.version, changes, self.encoding)
        return document.in_step or not was_in_step

    def close(self, uri: str) -> None:
        document = self._documents.pop(_key(uri), None)
        if document:
            document.forget()


def _key(uri: str) -> str:
    """One spelling for `file:///c%3A/x` and `file:///C:/x`."""
    return _DRIVE.sub(lambda found: found[1] + found[2].lower(), unquote(uri))


def _trimmed(start: int, old: list[str], new: list[str]) -> LineChange:
    """The change without the lines at both ends that stay."""
    most = min(len(old), len(new))
    head = next((k for k in range(most) if old[k] != new[k]), most)
    most -= head
    tail = next((k for k in range(most) if old[-1 - k] != new[-1 - k]), most)
    return LineChange(start + head, old[head : len(old) - tail], new[head : len(new) - tail])
