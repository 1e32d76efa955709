"""Keeps segments few: small ones are merged into larger ones (a log-structured merge).

There is room for one segment in each tier but the last, so a look-up searches the few that hold
most of the text and two small ones, however many documents there are and however often they
change. A token is filed anew once for each tier, and once for each time the tier fills up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from copydraft.index import shards
from copydraft.index.segment import Segment, build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlite_utils import Database

    from copydraft.index.shards import Stored

_TIERS = (1 << 16, 1 << 20)
MOST_TOKENS = 1 << 23
"""Of one segment: sorting it takes 60 bytes a token for some seconds."""


def compact(db: Database, corpus: int) -> int:
    """Merge segments until each has its size to itself; the number of merges."""
    merges = 0
    stored = shards.stored(db, corpus)
    while group := plan([(each.used, each.size) for each in stored]):
        old = [stored[number] for number in group]
        shards.merge(db, corpus, [each.id for each in old], _merged(db, old))
        merges += 1
        stored = shards.stored(db, corpus)
    if merges:
        # The pages that the old segments leave go back to the disk. (`execute` would free one.)
        db.conn.executescript("PRAGMA incremental_vacuum")
    return merges


def plan(sizes: Sequence[tuple[int, int]]) -> list[int]:
    """The numbers of the segments to merge next, given (tokens in use, all tokens) of each.

    None if all is well. One alone is to be written anew: most of its documents are gone.
    """
    by_size = sorted(range(len(sizes)), key=lambda number: sizes[number][0])
    below = -1
    for tier in (*_TIERS, MOST_TOKENS):
        group: list[int] = []
        total = 0
        for number in by_size:
            live = sizes[number][0]
            if below < live <= tier and total + live <= MOST_TOKENS:
                group.append(number)
                total += live
        if len(group) > 1:
            return group
        below = tier
    for number, (live, size) in enumerate(sizes):
        if live < size // 2 and size > _TIERS[0] // 16:
            return [number]
    return []


def _merged(db: Database, old: Sequence[Stored]) -> Segment:
    documents = []
    for each in old:
        segment = shards.load(db, each, "", "")
        documents += [(placed.source, segment.tokens(placed)) for placed in segment.documents]
    return build(documents)
