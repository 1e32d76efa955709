"""Drafts from the corpora: what followed the longest match, and where it is from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from copydraft.drafting import corpus
from copydraft.drafting.candidate import Candidate
from copydraft.drafting.drafter import CopyDrafter
from copydraft.drafting.policy import Experience, Policy
from copydraft.drafting.profile import Profile
from copydraft.index.search import NOTHING, Search, Shown
from copydraft.index.segment import Match, Source, build
from copydraft.tokens import NO_DRAFT, Document

FREE = [1.0] * 64


def search(*documents: tuple[str, str, list[int]]) -> Search:
    """Of (corpus, path, tokens), nearer corpora first."""
    segments = [
        build([(Source(name, path, "file", 1), np.array(tokens, np.uint32))])
        for name, path, tokens in documents
    ]
    return Search([Shown(segment, ()) for segment in segments])


class CountingSearch:
    """A search that tells how often it was asked."""

    def __init__(self, search: Search) -> None:
        self.asked = 0
        self._search = search

    def longest_matches(self, tail: Sequence[int], most: int) -> list[Match]:
        self.asked += 1
        return self._search.longest_matches(tail, most)

    def following(self, match: Match, count: int) -> list[int]:
        return self._search.following(match, count)


def found(searched: Search, *tail: int) -> Candidate:
    candidate = corpus.candidate(searched, tail, 8)
    assert candidate is not None
    return candidate


def drafter(searched: Search | CountingSearch, *documents: Document) -> CopyDrafter:
    return CopyDrafter(documents, Policy(Experience(Profile(), FREE)), searched)


def test_what_followed_the_longest_match_is_offered_with_its_place() -> None:
    searched = search(("workspace", "a.py", [9, 2, 3, 4]), ("global", "/b.py", [1, 2, 3, 7, 8]))
    candidate = found(searched, 1, 2, 3)
    assert (candidate.run, list(candidate.tokens)) == (3, [7, 8])
    assert (candidate.corpus, candidate.path) == ("global", "/b.py")


def test_of_equal_matches_the_nearer_corpus_wins() -> None:
    searched = search(("workspace", "a.py", [2, 3, 4]), ("global", "/b.py", [2, 3, 5]))
    assert list(found(searched, 2, 3).tokens) == [4]


def test_most_continuations_win_over_the_nearer_corpus() -> None:
    searched = search(
        ("workspace", "a.py", [2, 3, 4]),
        ("global", "/b.py", [2, 3, 5]),
        ("global", "/c.py", [3, 5]),
    )
    assert list(found(searched, 3).tokens) == [5]


def test_an_open_document_is_shown_as_a_part_of_the_workspace_and_judged_by_itself() -> None:
    candidate = found(search(("buffer", "a.py", [2, 3, 4])), 2, 3)
    assert candidate.corpus == "workspace"
    assert "corpus from buffer" in candidate.traits


@pytest.mark.parametrize("tail", [(), (5,)])
def test_nothing_is_offered_where_nothing_matches(tail: tuple[int, ...]) -> None:
    assert corpus.candidate(search(("workspace", "a.py", [2, 3, 4])), tail, 8) is None


def test_a_draft_ends_where_its_field_is_closed() -> None:
    # The text of an old field; its path would stand in another document.
    searched = search(("workspace", "old", [2, 3, 4]), ("workspace", "path", [7, 8, 9]))
    assert list(found(searched, 2, 3).tokens) == [4]


def test_the_corpora_are_drafted_from_where_the_session_has_no_match() -> None:
    subject = drafter(search(("workspace", "a.py", [5, 6, 7])), Document("region", "", "", (1, 2)))
    subject.written([5, 6], accepted=0)
    draft = subject.propose(8)
    assert (list(draft.tokens), draft.corpus, draft.path) == ([7], "workspace", "a.py")


def test_a_match_may_begin_in_an_earlier_pass() -> None:
    subject = drafter(search(("workspace", "a.py", [5, 6, 7]), ("global", "/b.py", [9, 6, 8])))
    subject.written([9], accepted=0)
    subject.written([6], accepted=0)
    assert list(subject.propose(8).tokens) == [8]


def test_the_corpora_are_not_asked_where_the_session_is_sure() -> None:
    counting = CountingSearch(search(("workspace", "a.py", [5, 6, 7])))
    subject = drafter(counting, Document("region", "a.py", "text", tuple(range(100))))
    subject.written(range(50), accepted=0)
    subject.propose(8)
    assert counting.asked == 0
    subject.written([500], accepted=0)
    subject.propose(8)
    assert counting.asked == 1


def test_without_a_match_anywhere_nothing_is_drafted() -> None:
    subject = drafter(NOTHING)
    subject.written([1, 2, 3], accepted=0)
    assert subject.propose(8) == NO_DRAFT
