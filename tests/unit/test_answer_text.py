"""Streamed text has whole characters only, ends before a stop string, and knows its origins."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.protocol import Span
from copydraft.serving.text import TextStream, spans_within


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(edges)]


def test_a_character_is_held_back_until_it_is_whole() -> None:
    stream = TextStream()
    for byte, text in zip("é😀".encode(), ["", "é", "é", "é", "é", "é😀"], strict=True):
        stream.feed(bytes([byte]))
        assert stream.text == text


def test_a_character_cut_off_by_the_end_is_shown_as_broken() -> None:
    stream = TextStream()
    stream.feed("é".encode()[:1])
    stream.end()
    assert stream.text == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("tokens", [["a;STOPb"], ["a;S", "TO", "Pb"], ["a;", "S", "T", "O", "P"]])
def test_text_ends_before_a_stop_string_across_token_borders(tokens: list[str]) -> None:
    stream = TextStream([";STOP"])
    for token in tokens:
        stream.feed(token.encode())
    assert stream.stopped
    assert stream.text == "a"


def test_what_only_looked_like_a_stop_string_is_let_out() -> None:
    stream = TextStream(["STOP"])
    stream.feed(b"ST")
    assert stream.text == ""
    stream.feed(b"AR")
    assert stream.text == "STAR"


def test_held_back_text_comes_out_at_the_end() -> None:
    stream = TextStream(["STOP"])
    stream.feed(b"a ST")
    stream.end()
    assert stream.text == "a ST"


def test_neighbouring_parts_of_one_origin_are_one_span() -> None:
    stream = TextStream()
    stream.feed(b"ab", "region", "a.py")
    stream.feed(b"cd", "region", "a.py")
    stream.feed(b"e")
    assert stream.spans == [
        Span(start=0, end=4, corpus="region", path="a.py"),
        Span(start=4, end=5),
    ]


def test_spans_of_a_later_part_count_from_its_start() -> None:
    spans = [Span(start=0, end=4, corpus="region"), Span(start=4, end=6)]
    assert spans_within(spans, 3, 6) == [
        Span(start=0, end=1, corpus="region"),
        Span(start=1, end=3),
    ]


@given(st.text("abé😀"), st.lists(st.integers(0)), st.sampled_from(["", "ab", "aba", "é"]))
def test_text_ends_before_its_first_stop_string_however_it_is_cut_into_tokens(
    text: str, cuts: list[int], stop: str
) -> None:
    stream = TextStream([stop])
    for piece in pieces_of(text.encode(), cuts):
        stream.feed(piece)
    stream.end()
    assert stream.text == (text.split(stop, maxsplit=1)[0] if stop else text)
    assert "".join(stream.text[span.start : span.end] for span in stream.spans) == stream.text
