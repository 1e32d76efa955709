"""Segments and searches over them find what looking everywhere finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.index.order import DEPTH, SEPARATOR, suffix_order
from copydraft.index.search import NOTHING, Search, Shown
from copydraft.index.segment import Placed, Segment, Source, build

tokens = st.lists(st.integers(0, 3), max_size=40)
documents = st.lists(tokens, max_size=4)


def source(path: str, corpus: str = "workspace") -> Source:
    return Source(corpus, path, "file", 1)


def segment(*texts: list[int], prefix: str = "") -> Segment:
    """Documents named "0", "1", … behind the prefix."""
    return build(
        [
            (source(f"{prefix}{number}"), np.array(text, np.uint32))
            for number, text in enumerate(texts)
        ]
    )


def search(*segments: Segment) -> Search:
    return Search([Shown(each, ()) for each in segments])


def naive(texts: dict[str, list[int]], tail: list[int]) -> set[tuple[int, str, int]]:
    """(length, path, position) of the places with the longest match, by looking everywhere."""
    found: dict[tuple[str, int], int] = {}
    for path, text in texts.items():
        for place in range(1, len(text)):
            length = 0
            while (
                length < min(DEPTH, place, len(tail))
                and text[place - 1 - length] == tail[-1 - length]
            ):
                length += 1
            found[path, place] = length
    longest = max(found.values(), default=0)
    return {(n, *where) for where, n in found.items() if n == longest and n > 0}


def places(matches: Search, tail: list[int]) -> set[tuple[int, str, int]]:
    return {(m.length, m.document.path, m.position) for m in matches.longest_matches(tail, 10_000)}


def test_a_match_tells_its_document_its_place_and_what_follows() -> None:
    index = search(segment([1, 2, 3, 4, 5], [9, 3, 7]))
    [match] = index.longest_matches([8, 2, 3], 8)
    assert match.length == 2
    assert match.document == Source("workspace", "0", "file", 1)
    assert match.position == 3
    assert match.following == 4
    assert index.following(match, 1) == [4]
    assert index.following(match, 8) == [4, 5]


def test_the_longest_match_wins_in_whatever_segment_it_is() -> None:
    short, long = segment([9, 3, 7], prefix="a"), segment([2, 3, 4], prefix="b")
    for index in (search(short, long), search(long, short)):
        [match] = index.longest_matches([1, 2, 3], 8)
        assert match.document.path == "b0"


def test_a_document_can_be_left_out() -> None:
    index = Search([Shown(segment([2, 3, 4], [9, 3, 5], [8, 3, 6]), {"2"})]).without("0")
    [match] = index.longest_matches([2, 3], 8)
    assert (match.length, match.following) == (1, 5)


def test_an_open_document_that_is_left_out_is_not_gone_through() -> None:
    own, other = segment([1, 2, 3], prefix="own"), segment([1, 2, 4], [1, 2], prefix="other")
    assert search(own, other).without("own0").tokens == other.live
    assert search(own, other).without("other0").tokens == own.live + other.live


def test_of_equal_matches_earlier_segments_come_first() -> None:
    first, second = segment([2, 3, 4], prefix="a"), segment([2, 3, 5], prefix="b")
    [match] = search(first, second).longest_matches([2, 3], 1)
    assert match.following == 4
    [match] = search(second, first).longest_matches([2, 3], 1)
    assert match.following == 5


def test_no_more_matches_are_given_than_asked_for() -> None:
    first, second = segment([2, 3, 4], [2, 3, 5], prefix="a"), segment([2, 3, 6], prefix="b")
    for most in (0, 1, 2, 3, 4):
        assert len(search(first, second).longest_matches([2, 3], most)) == min(most, 3)
    longer = segment([1, 2, 3, 7], prefix="c")
    [match] = search(first, longer).longest_matches([1, 2, 3], 2)
    assert match.following == 7


def test_no_match_and_no_draft_crosses_the_border_of_two_documents() -> None:
    index = search(segment([1, 2], [3, 4]))
    assert index.longest_matches([2], 8) == []
    [match] = index.longest_matches([2, 3], 8)
    assert match.length == 1
    assert index.following(match, 8) == [4]


def test_a_longer_match_than_the_depth_counts_as_the_depth() -> None:
    text = [1, 2] * 40
    index = search(segment([*text, 7]))
    assert {m.length for m in index.longest_matches(text, 100)} == {DEPTH}


def test_a_hidden_document_is_not_found() -> None:
    index = segment([1, 2, 3], [1, 2, 4])
    [match] = Search([Shown(index, {"0"})]).longest_matches([1, 2], 8)
    assert match.document.path == "1"


def test_a_dropped_document_is_not_found() -> None:
    whole = segment([1, 2, 3], [1, 2, 4])
    [match] = search(whole.with_documents(whole.documents[1:])).longest_matches([1, 2], 8)
    assert match.document.path == "1"
    assert search(whole.with_documents([])).longest_matches([1, 2], 8) == []


def test_the_end_of_a_document_is_no_place_for_a_draft() -> None:
    assert search(segment([1, 2])).longest_matches([1, 2], 8) == []


def test_nothing_matches_in_nothing() -> None:
    assert NOTHING.longest_matches([1], 8) == []
    assert search(segment()).longest_matches([1], 8) == []
    assert search(segment([], [1])).longest_matches([1], 8) == []
    assert search(segment([1, 2])).longest_matches([], 8) == []


def test_a_segment_gives_back_its_documents() -> None:
    whole = segment([1, 2, 3], [], [4])
    assert [whole.tokens(document).tolist() for document in whole.documents] == [[1, 2, 3], [], [4]]


def test_a_segment_refuses_documents_that_are_not_in_its_text() -> None:
    whole = segment([1, 2, 3], [4])
    with pytest.raises(ValueError, match="not where it should be"):
        whole.with_documents([Placed(source("0"), 1, 3)])
    with pytest.raises(ValueError, match="not where it should be"):
        whole.with_documents([Placed(source("0"), 100, 3)])


@given(st.lists(documents, max_size=3), tokens)
def test_look_ups_equal_a_naive_search(groups: list[list[list[int]]], tail: list[int]) -> None:
    segments = [segment(*group, prefix=f"{number}/") for number, group in enumerate(groups)]
    texts = {
        f"{number}/{place}": text
        for number, group in enumerate(groups)
        for place, text in enumerate(group)
    }
    assert places(search(*segments), tail) == naive(texts, tail)


@given(documents, tokens, st.sets(st.integers(0, 3)), st.sets(st.integers(0, 3)))
def test_look_ups_past_hidden_and_dropped_documents_equal_a_naive_search(
    texts: list[list[int]], tail: list[int], hidden: set[int], dropped: set[int]
) -> None:
    whole = segment(*texts)
    kept = whole.with_documents(
        [each for number, each in enumerate(whole.documents) if number not in dropped]
    )
    index = Search([Shown(kept, {str(number) for number in hidden})])
    left = {str(n): text for n, text in enumerate(texts) if n not in hidden | dropped}
    assert places(index, tail) == naive(left, tail)


@given(tokens, st.lists(st.integers(0, 3), min_size=45, max_size=60))
def test_matches_about_as_long_as_the_depth_equal_a_naive_search(
    text: list[int], run: list[int]
) -> None:
    long = [*run, 9, *text, *run, 8]
    assert places(search(segment(long)), run) == naive({"0": long}, run)


@given(st.lists(st.sampled_from([0, 1, 2**21 - 2, SEPARATOR]), max_size=60))
def test_the_order_is_that_of_the_text_up_to_a_separator(text: list[int]) -> None:
    text.append(SEPARATOR)

    def key(index: int) -> list[int]:
        rest = text[index : index + DEPTH]
        return rest[: rest.index(SEPARATOR) + 1] if SEPARATOR in rest else rest

    order = suffix_order(np.array(text, np.uint32)).tolist()
    assert sorted(order) == list(range(len(text)))
    keys = [key(index) for index in order]
    assert keys == sorted(keys)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 40), min_size=1, max_size=3))
def test_the_table_of_large_segments_changes_no_answer(seed: int, tail: list[int]) -> None:
    random = np.random.default_rng(seed)
    text = random.integers(1, 30, 300).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("copydraft.index.segment._SMALL", 1)
        with_table = segment(text)
    assert with_table.table
    assert places(search(with_table), tail) == naive({"0": text}, tail)
