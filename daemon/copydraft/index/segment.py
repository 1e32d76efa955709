"""Many documents in one immutable piece that is searched as one: the shards of an index.

The text holds each document's tokens backwards, then a separator. What stands before a place is
then read forwards from it, nearest token first, and as big-endian numbers it compares as bytes.
Eight bytes a token, four of text and four of order, and a table in large segments.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copydraft.index.order import DEPTH, SEPARATOR, suffix_order

if TYPE_CHECKING:
    import mmap
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    Bytes = bytes | mmap.mmap
    """Both give bytes for a slice; mapped memory goes back to the system at once."""

_BYTES = 4
_KEY_BYTES = DEPTH * _BYTES

_SMALL = 1 << 16
"""Places in a segment for which a table of the vocabulary's size is worth its memory."""

_MOST_HIDDEN = 1024
"""Places of hidden documents that one look-up passes over in a segment, so that it stays quick."""


class Source(NamedTuple):
    """A document as a draft names it."""

    corpus: str
    """"workspace", "global" or "buffer" (an open document's unsaved text)."""
    path: str
    """Below the workspace; absolute in the global corpus."""
    field: str
    version: int
    """Of a file, its time of change in ns since 1970; of a buffer, the editor's number."""


class Placed(NamedTuple):
    """A document's place in a segment: its tokens, backwards, are text[start : start + length]."""

    source: Source
    start: int
    length: int


class Match(NamedTuple):
    """A place whose preceding `length` tokens are the last ones written."""

    length: int
    position: int
    """Tokens of the document before the place."""
    document: Source
    following: int
    """The token at the place."""
    segment: Segment
    first: int
    """Where in the segment's text the document begins (with its last token)."""
    place: int
    """Where in the segment's text; tokens that follow stand before it, backwards."""


class Spot(NamedTuple):
    """Where in a segment's order a text would be filed."""

    at: int
    left: int
    """Length of the match with the place before."""
    right: int
    """Length of the match with the place behind."""


class Segment:
    """Text and order are never changed; the documents may be fewer than those in the text."""

    def __init__(
        self, text: Bytes, places: Bytes, table: Bytes, documents: Sequence[Placed]
    ) -> None:
        """`text`: big-endian uint32; `places`: uint32 of this machine; `documents` by start.

        `table`, of the same kind as `places`: for each token, how many places stand before those
        whose nearest token it is; empty in small segments. It halves the binary search.

        Raises:
            ValueError: they do not fit together.
        """
        self.text = text
        self.places = places
        self.documents = documents
        self.table = table
        self._order = memoryview(places).cast("I")
        self._table = memoryview(table).cast("I")
        self._starts = [document.start for document in documents]
        separator = SEPARATOR.to_bytes(_BYTES)
        for document in documents:
            end = _BYTES * (document.start + document.length)
            if document.start < 0 or text[end : end + _BYTES] != separator:
                raise ValueError(f"{document.source.path} is not where it should be")

    def __len__(self) -> int:
        """Tokens in the text, those of dropped documents and separators included."""
        return len(self.text) // _BYTES

    @property
    def live(self) -> int:
        """Tokens of the documents."""
        return sum(document.length for document in self.documents)

    def with_documents(self, documents: Sequence[Placed]) -> Segment:
        """The same text, of which only `documents` count."""
        return Segment(self.text, self.places, self.table, documents)

    def nearest(self, key: bytes) -> Spot:
        """Where the text so far would be filed, and how well the places beside that match.

        `key` is what `search_key` made of the text so far. Cost: one binary search.
        """
        text = self.text

        def before(index: int) -> bytes:
            return text[_BYTES * index : _BYTES * index + _KEY_BYTES]

        token = int.from_bytes(key[:_BYTES])
        low, high = 0, len(self._order)
        if token + 1 < len(self._table):
            low, high = self._table[token], self._table[token + 1]
        at = bisect_left(self._order, key, low, high, key=before)
        return Spot(at, self._common(at - 1, key), self._common(at, key))

    def matches(self, key: bytes, spot: Spot, hidden: Collection[str]) -> Iterator[Match]:
        """All places that match, longest match first; documents with `hidden` paths left out."""
        right, left_length, right_length = spot
        left = right - 1
        passed = 0
        while left_length or right_length:
            if left_length > right_length:
                length, place = left_length, self._order[left]
                left -= 1
                left_length = self._common(left, key)
            else:
                length, place = right_length, self._order[right]
                right += 1
                right_length = self._common(right, key)
            number = bisect_right(self._starts, place) - 1
            # Before the first document, or behind one, is the text of dropped ones.
            source, first, size = self.documents[number] if number >= 0 else _NO_DOCUMENT
            if place < first + size and source.path not in hidden:
                following = int.from_bytes(self.text[_BYTES * (place - 1) : _BYTES * place])
                yield Match(length, first + size - place, source, following, self, first, place)
            else:
                passed += 1
                if passed == _MOST_HIDDEN:
                    return

    def following(self, match: Match, count: int) -> list[int]:
        """Up to `count` tokens from the place on, within its document."""
        first = max(match.first, match.place - count)
        tokens = struct.unpack_from(f">{match.place - first}I", self.text, _BYTES * first)
        return list(tokens[::-1])

    def tokens(self, document: Placed) -> NDArray[np.uint32]:
        """All tokens of a document, forwards."""
        part = np.frombuffer(self.text, ">u4", document.length, _BYTES * document.start)
        return part[::-1].astype(np.uint32)

    def _common(self, place: int, key: bytes) -> int:
        """How many tokens of the key stand before a place; 0 where there is no such place."""
        if not 0 <= place < len(self._order):
            return 0
        start = _BYTES * self._order[place]
        before = self.text[start : start + len(key)]
        if before == key:
            return len(key) // _BYTES
        # The text may end before the key does: its last separator is no token of the key.
        different = int.from_bytes(before.ljust(len(key), b"\xff")) ^ int.from_bytes(key)
        return (8 * len(key) - different.bit_length()) // (8 * _BYTES)


_NO_DOCUMENT = Placed(Source("", "", "", 0), 0, 0)


def build(documents: Sequence[tuple[Source, NDArray[np.uint32]]]) -> Segment:
    """A segment of the documents' tokens, in this order. Takes about a second a million tokens."""
    text = np.full(sum(len(tokens) + 1 for _, tokens in documents), SEPARATOR, np.uint32)
    searchable = np.zeros(len(text), np.bool_)
    placed = []
    start = 0
    for source, tokens in documents:
        end = start + len(tokens)
        text[start:end] = tokens[::-1]
        # Behind a document's last token (its start here) nothing follows: no place for a draft.
        searchable[start + 1 : end] = True
        placed.append(Placed(source, start, len(tokens)))
        start = end + 1
    order = suffix_order(text)
    places = order[searchable[order]].astype(np.uint32)
    return Segment(text.astype(">u4").tobytes(), places.tobytes(), _table(text[places]), placed)


def _table(nearest: NDArray[np.uint32]) -> bytes:
    """How many of the sorted tokens are below each number, up to the largest."""
    if len(nearest) < _SMALL:
        return b""
    return np.searchsorted(nearest, np.arange(int(nearest[-1]) + 2)).astype(np.uint32).tobytes()


def search_key(tail: Sequence[int]) -> bytes:
    """What to look for: the last `DEPTH` tokens of the text so far, nearest first."""
    nearest = tail[: -DEPTH - 1 : -1]
    return struct.pack(f">{len(nearest)}I", *nearest)
