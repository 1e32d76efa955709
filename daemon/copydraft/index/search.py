"""Look-ups over several segments at once: one moment of the corpora, which never changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from copydraft.index.segment import Match, Segment, search_key

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class Shown(NamedTuple):
    """A segment, but for the documents with `hidden` paths: open buffers stand for them."""

    segment: Segment
    hidden: Collection[str]


class Search:
    """Finds the longest matches as `SessionIndex` does. Safe in any thread, and takes no lock."""

    def __init__(self, shown: Sequence[Shown]) -> None:
        """Of equal matches those in earlier segments come first."""
        self._shown = shown

    @property
    def tokens(self) -> int:
        return sum(shown.segment.live for shown in self._shown)

    def without(self, path: str) -> Search:
        """The same moment, but for the document at `path` (as `Source` names it).

        For a request about it: what it shows of the document is newer, and nearer.
        """
        return Search(
            [
                Shown(each, {*hidden, path})
                for each, hidden in self._shown
                # Passing over the places of a document takes time: an open one has its own segment.
                if any(document.source.path != path for document in each.documents)
            ]
        )

    def longest_matches(self, tail: Sequence[int], most: int) -> list[Match]:
        """The places with the longest match of the end of `tail`, at most `most` of them.

        `tail` is the text so far, or at least its last `DEPTH` tokens. Empty if nothing
        matches. Cost: one binary search in each segment.
        """
        if not tail:
            return []
        key = search_key(tail)
        spots = [shown.segment.nearest(key) for shown in self._shown]
        best = 1
        found: list[Match] = []
        # Most segments are done with here: only the longest matches are gone through.
        longest = sorted(
            range(len(spots)), key=lambda number: -max(spots[number].left, spots[number].right)
        )
        for number in longest:
            segment, hidden = self._shown[number]
            spot = spots[number]
            if max(spot.left, spot.right) < best:
                break
            for match in segment.matches(key, spot, hidden):
                if match.length > best:
                    best = match.length
                    found.clear()
                if match.length == best and len(found) < most:
                    found.append(match)
                if match.length < best or len(found) >= most:
                    break
        return found

    def following(self, match: Match, count: int) -> list[int]:
        """Up to `count` tokens from a match's place on, within its document."""
        return match.segment.following(match, count)


NOTHING = Search(())
