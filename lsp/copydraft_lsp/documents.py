"""The open documents, as their editor has them: lists of lines that are edited in place.

A change costs the lines that it touches and a shift of the list, whatever the document's size.
Who follows a document (`regions.py`) is told of every change as whole lines.

Client and server disagree where a change names a document that is not open, a line far behind the
end, or an older version. Such a document is out of step: requests for it are refused until the
client has sent the whole text again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from lsprotocol import types

from copydraft.textedits import changes as line_changes
from copydraft.textedits import split_lines
from copydraft_lsp.convert import Encoding, place

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

    def __init__(self, uri: str, language: str, version: int, text: str) -> None:
        self.uri = uri
        """As the client spells it."""
        self.language = language
        self.version = version
        self.lines = split_lines(text)
        self.in_step = True
        """False: the client's text may be another."""
        self.ambiguous = False
        """Two buffers without a name have the same URI."""
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
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                self._splice(change.range, change.text, encoding)
            else:
                self.replace(change.text)

    def replace(self, text: str) -> bool:
        """Take `text` as the client's whole text, in step again; whether it was another."""
        self.in_step = True
        new = split_lines(text)
        if new == self.lines:
            return False
        old, self.lines = self.lines, new
        if self.listeners:
            change = _trimmed(0, old, new)
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

    def _splice(self, range_: types.Range, text: str, encoding: Encoding) -> None:
        lines = self.lines
        # The line behind the last is where editors put the end of the text.
        if max(range_.start.line, range_.end.line) > len(lines):
            self.in_step = False
        (a, head), (b, tail) = sorted(
            place(lines, end, encoding) for end in (range_.start, range_.end)
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
        change = _trimmed(a, lines[a:b], split_lines(joined))
        lines[change.start : change.start + len(change.old)] = change.new
        if change.old or change.new:
            self._tell(change)

    def _tell(self, change: LineChange) -> None:
        for listener in [*self.listeners]:
            listener(change)


class DocumentStore:
    """All open documents by their URIs, however these are spelled."""

    def __init__(self) -> None:
        self.encoding: Encoding = types.PositionEncodingKind.Utf16
        """What was negotiated; set once, before the first document."""
        self._documents: dict[str, Document] = {}
        self._shared: set[str] = set()
        """Names that two buffers have had at once: which of them was closed is not known."""

    def __len__(self) -> int:
        return len(self._documents)

    def get(self, uri: str) -> Document | None:
        return self._documents.get(_key(uri))

    def open(self, item: types.TextDocumentItem) -> Document:
        """Take a document in; one that is open under the URI already is replaced."""
        document = Document(item.uri, item.language_id, item.version, item.text)
        if before := self._documents.get(_key(item.uri)):
            before.forget()
            if _NAMELESS.match(item.uri):
                self._shared.add(_key(item.uri))
        document.ambiguous = _key(item.uri) in self._shared
        self._documents[_key(item.uri)] = document
        return document

    def change(
        self,
        named: types.VersionedTextDocumentIdentifier,
        changes: Sequence[types.TextDocumentContentChangeEvent],
    ) -> bool:
        """Make the client's changes; False: client and server now disagree on the document."""
        document = self.get(named.uri)
        if document is None:
            return False
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
