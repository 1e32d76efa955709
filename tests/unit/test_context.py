"""Which lines of a document the model is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.prompts.context import NOTHING, Window, fit, plain, show, window
from copydraft.prompts.pieces import Piece
from copydraft.protocol import Region
from tests.fixtures.word_tokenizer import WordTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

TOKENIZER = WordTokenizer()


def region(start: int, end: int, lines: int = 200) -> Region:
    """A document whose every line is four tokens."""
    return Region(path="f.py", text="aa bb\n" * lines, start=start, end=end)


def test_only_newlines_are_shown_to_the_model() -> None:
    assert plain("a\r\nb\rc\n") == "a\nb\nc\n"


def test_a_document_that_fits_is_shown_whole() -> None:
    assert window(region(10, 12), 10_000, TOKENIZER) == Window(0, 200)


def test_a_window_is_whole_blocks_around_the_region() -> None:
    assert window(region(70, 80), 400, TOKENIZER) == Window(32, 128)


@pytest.mark.parametrize(("start", "end"), [(64, 65), (70, 80), (95, 96)])
def test_edits_close_by_see_the_same_lines(start: int, end: int) -> None:
    assert window(region(start, end), 400, TOKENIZER) == Window(32, 128)


def test_room_that_one_side_cannot_use_goes_to_the_other() -> None:
    assert window(region(0, 5), 400, TOKENIZER) == Window(0, 96)
    assert window(region(195, 200), 400, TOKENIZER) == Window(128, 200)


def test_nothing_is_shown_where_the_regions_own_blocks_do_not_fit() -> None:
    assert window(region(70, 80), 50, TOKENIZER) == NOTHING


@given(st.integers(0, 199), st.integers(1, 60), st.integers(1, 1000))
def test_a_window_holds_the_region_and_keeps_to_the_budget(
    start: int, size: int, budget: int
) -> None:
    end = min(start + size, 200)
    shown = window(region(start, end), budget, TOKENIZER)
    if shown != NOTHING:
        assert shown.start <= start < end <= shown.end
        assert (shown.end - shown.start) * 4 <= budget * 1.1


def test_a_window_is_shown_as_part_of_the_file() -> None:
    document = Region(path="f.py", text="a\r\nb\r\nc\r\n", start=1, end=2)
    assert show(document, Window(0, 2), "Region", "```") == (
        "Part of the file f.py:\n```python\na\nb\n```\nRegion:\n```python\nb\n```\n"
    )


def test_a_whole_document_is_shown_as_the_file() -> None:
    document = Region(path="f.py", text="a\nb", start=1, end=2)
    assert show(document, Window(0, 2), "Region", "```") == (
        "File: f.py\n```python\na\nb\n```\nRegion:\n```python\nb\n```\n"
    )


def test_without_a_window_only_the_region_is_shown() -> None:
    document = Region(path="f.py", text="a\nb", start=1, end=2)
    assert show(document, NOTHING, "Region", "```") == "Region:\n```python\nb\n```\n"


def test_the_prompt_keeps_within_what_it_may_have_in_all() -> None:
    # Lines far from the region hold more tokens than those around it make expect.
    dense, plain_line = "+ - * / " * 4 + "\n", "a" * 60 + "\n"
    text = dense * 100 + plain_line * 81 + dense * 100
    document = Region(path="f.py", text=text, start=140, end=141)
    build = _shown_lines(text)
    prompt = fit(build, document, TOKENIZER, most=600, file_context=5_000)
    assert 100 < len(prompt.tokens) <= 600


def _shown_lines(text: str) -> Callable[[Window], list[Piece]]:
    lines = text.splitlines(keepends=True)
    return lambda shown: [Piece("".join(lines[shown.start : shown.end]) + "go", markup=False)]


def test_a_prompt_with_no_room_for_the_file_is_without_it() -> None:
    document = region(10, 12)
    prompt = fit(_shown_lines(document.text), document, TOKENIZER, most=0, file_context=500)
    assert TOKENIZER.text(prompt.tokens) == "go"
