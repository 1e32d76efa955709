"""An answer's body put into the document's own line ends, indentation and blank borders."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.emission.format import Part
from copydraft.prompts.restore import map_spans, restore
from copydraft.protocol import Span
from copydraft.textedits import split_lines

regions = st.lists(
    st.tuples(
        st.sampled_from(["", "a", "    a", "\tb", "        c", "  d"]),
        st.sampled_from(["\n", "\r\n", "\r"]),
    ),
    min_size=1,
).map(lambda lines: "".join(map("".join, lines)))
instructions = st.sampled_from(["rename a", "indent it", "remove blank lines"])


def restored(body: str, region: str, *, end: str = "\n", instruction: str = "rename a") -> str:
    return "".join(part.text for part in restore(body, split_lines(region), end, instruction))


def test_new_lines_get_the_documents_line_end() -> None:
    assert restored("a\nnew\n", "a\r\nb\r\n", end="\r\n") == "a\r\nnew\r\n"


def test_unchanged_lines_keep_their_own_end() -> None:
    region = "a\r\nb\nc\rd\r\n"
    assert restored("a\nb\nnew\nc\nd\n", region, end="\r\n") == "a\r\nb\nnew\r\nc\rd\r\n"


@pytest.mark.parametrize(("body", "text"), [("a\nc\n", "a\nc"), ("a\nb\nc\n", "a\nb\nc")])
def test_a_region_without_final_newline_stays_so(body: str, text: str) -> None:
    assert restored(body, "a\nb") == text


def test_a_body_without_final_newline_gets_the_regions() -> None:
    assert restored("a\nc", "a\nb\n") == "a\nc\n"


def test_an_empty_body_is_no_text() -> None:
    assert restored("", "a\nb\n") == ""


def test_a_dropped_indentation_is_put_back() -> None:
    region = "    def f(self):\n        return 1\n"
    body = "def f(self):\n    x = 1\n\n    return 1\n"
    assert restored(body, region) == ("    def f(self):\n        x = 1\n\n        return 1\n")


def test_an_added_indentation_is_taken_away() -> None:
    region = "def f():\n    return 1\n"
    assert restored("    def f():\n        y\n        return 1\n", region) == (
        "def f():\n    y\n    return 1\n"
    )


def test_a_block_that_was_wrapped_keeps_its_new_indentation() -> None:
    region = "        a()\n        b()\n"
    body = "        if x:\n            a()\n            b()\n"
    assert restored(body, region) == body


def test_a_block_that_was_unwrapped_keeps_its_new_indentation() -> None:
    region = "    if x:\n        a()\n        b()\n"
    body = "    a()\n    b()\n"
    assert restored(body, region) == body


def test_an_instruction_about_indentation_leaves_it_to_the_model() -> None:
    region = "    a()\n    b()\n"
    assert restored("a()\nb()\n", region, instruction="dedent this") == "a()\nb()\n"


def test_lines_that_moved_in_different_ways_are_left_to_the_model() -> None:
    region = "    a()\n    b()\n    c()\n"
    body = "a()\n  b()\nc()\n"
    assert restored(body, region) == body


def test_spaces_written_for_tabs_become_tabs_again() -> None:
    region = "\tif x {\n\t\ta()\n\t}\n"
    body = "    if x {\n        a()\n        b()\n    }\n"
    assert restored(body, region) == "\tif x {\n\t\ta()\n\t\tb()\n\t}\n"


def test_tabs_written_for_spaces_become_spaces_again() -> None:
    region = "  if x:\n    a()\n"
    assert restored("\tif x:\n\t\ta()\n\t\tb()\n", region) == "  if x:\n    a()\n    b()\n"


def test_blank_lines_lost_at_the_borders_are_put_back() -> None:
    region = "\n  \na()\nb()\n\n\t\n"
    assert restored("a()\nc()\n", region) == "\n  \na()\nc()\n\n\t\n"


def test_blank_lines_are_not_put_back_where_they_are_to_go() -> None:
    assert restored("a\n", "\na\n", instruction="remove the blank line") == "a\n"


def test_blank_lines_added_at_the_borders_stay() -> None:
    assert restored("a\n\n\n", "a\n") == "a\n\n\n"


@given(regions, st.booleans(), instructions)
def test_a_region_written_again_as_it_was_is_the_same_to_the_byte(
    region: str, unended: bool, instruction: str
) -> None:
    region = region.rstrip("\r\n") if unended else region
    seen = region.replace("\r\n", "\n").replace("\r", "\n")
    assert restored(seen, region or "a", instruction=instruction) == (region or "")


@given(regions, regions, st.data())
def test_the_spans_cover_the_text_in_order(body: str, region: str, data: st.DataObject) -> None:
    cuts = data.draw(st.sets(st.integers(1, max(1, len(body) - 1))))
    borders = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    spans = [Span(start=a, end=b, corpus=f"source {a}") for a, b in pairwise(borders)]
    parts = restore(body, split_lines(region), "\r\n", "rename a")
    text = "".join(part.text for part in parts)
    mapped = map_spans(parts, spans, "f.py")
    assert "".join(text[span.start : span.end] for span in mapped) == text
    assert all(a.end == b.start for a, b in pairwise(mapped))
    assert all(span.start < span.end for span in mapped)


def test_spans_move_with_their_text() -> None:
    # "ab" is half copied.
    parts = restore("  ab\n", ["    ab\r\n"], "\r\n", "rename b")
    spans = [
        Span(start=0, end=3, corpus="session", path="p"),
        Span(start=3, end=5, corpus=""),
    ]
    assert parts == [Part("    ", 0, 2), Part("ab", 2, 4), Part("\r\n", 4, 5)]
    assert map_spans(parts, spans, "f.py") == [
        Span(start=0, end=5, corpus="session", path="p"),
        Span(start=5, end=8, corpus=""),
    ]


def test_parts_in_another_order_than_in_the_answer_keep_their_sources() -> None:
    parts = [Part("b", 4, 5), Part("kept", 0, 0), Part("a\n", 1, 4)]
    spans = [Span(start=0, end=4, corpus="session"), Span(start=4, end=5, corpus="prediction")]
    assert map_spans(parts, spans, "f.py") == [
        Span(start=0, end=1, corpus="prediction"),
        Span(start=1, end=5, corpus="region", path="f.py"),
        Span(start=5, end=7, corpus="session"),
    ]


def test_an_answer_that_only_names_changes_keeps_its_blank_lines_and_indentation() -> None:
    region = ["\n", "    a\n", "    b\n"]
    parts = restore("a\nb\n", region, "\n", "rename a", rewritten=False)
    assert "".join(part.text for part in parts) == "a\nb\n"


def test_what_was_put_back_comes_from_the_region() -> None:
    parts = restore("a\n", ["\n", "a\n"], "\n", "rename b")
    assert map_spans(parts, [Span(start=0, end=2)], "f.py") == [
        Span(start=0, end=1, corpus="region", path="f.py"),
        Span(start=1, end=3),
    ]
