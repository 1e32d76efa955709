"""Answers that are no edit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.prompts.checks import Endless, placeholder


@pytest.mark.parametrize(
    "line",
    [
        "# ... rest of the code ...",
        "    # rest of the code unchanged",
        "# ... existing code ...",
        "# (unchanged)",
        "// ... rest of the function",
        "// existing code here",
        "  // ... (remaining methods)",
        "// The rest of the file remains the same",
        "/* ... existing styles ... */",
        "/* rest of the class */",
        "<!-- ... rest of the content ... -->",
        "{/* ... existing code ... */}",
        "-- remaining code unchanged",
        "; rest of the code",
        "% ... same as before ...",
        '""" ... existing code ... """',
        "# ...",
        "// …",
        "... rest of the code ...",
        "[... existing code ...]",
        "# other methods remain unchanged",
        "# no changes here",
        "# same as before",
        "# remaining implementation omitted for brevity",
        "# your code here",
        "# previous code",
    ],
)
def test_a_line_that_stands_for_code_is_found(line: str) -> None:
    assert placeholder(["x = 1\n", line + "\n"], ["x = 1\n"]) == line.strip()


@pytest.mark.parametrize("new", [["...\n"], ["\n", "    ...\n", "\n"], ["…"]])
def test_dots_in_the_place_of_several_lines_stand_for_code(new: list[str]) -> None:
    assert placeholder(new, ["x = 1\n", "y = 2\n"]) == "..."


def test_dots_may_take_the_place_of_one_line() -> None:
    assert placeholder(["    ...\n"], ["    return 1\n"]) is None


@pytest.mark.parametrize(
    "line",
    [
        "    ...",
        "def f(self) -> int: ...",
        "print('rest of the code')",
        "# remaining items are appended to the result",
        "# keep the rest of the tokens for later",
        "# Existing users keep their name",
        "# the code is a number between 100 and 599",
        "# otherwise the file stays open...",
        "x = [*rest, ...]",
        "return same(code)",
        "#!/bin/sh",
        "## Remaining work",
        "The rest of the code is unchanged.",
        "",
        "--",
        "# other",
        "# Previous line",
        "# rest of the line",
        "/**",
        " * Returns the same body as before.",
    ],
)
def test_code_and_common_comments_are_no_placeholders(line: str) -> None:
    assert placeholder([line], []) is None


def test_a_placeholder_that_was_there_before_may_stay() -> None:
    assert (
        placeholder(["        # ... existing code ...\n"], ["# ... existing code ...\r\n"]) is None
    )


def test_forty_equal_lines_too_many_are_endless() -> None:
    endless = Endless("x\ny\n")
    assert not endless.feed("    x = 1\n" * 40)
    assert endless.feed("    x = 1\n")


def test_a_block_that_comes_again_and_again_is_endless() -> None:
    block = "".join(f"line {n}\n" for n in range(19))
    endless = Endless()
    assert not endless.feed(block * 4)
    assert endless.feed(block)


def test_lines_that_the_region_repeats_may_be_repeated_as_often() -> None:
    table = "    0,\n" * 300
    assert not Endless(table).feed(table)
    assert not Endless(table).feed("    1,\n" * 300)


def test_one_line_that_goes_round_in_circles_is_endless() -> None:
    endless = Endless("short\n")
    assert not endless.feed("x = [" + "0, 1, " * 200)
    assert endless.feed("0, 1, " * 200)


def test_a_long_line_of_the_regions_own_is_not() -> None:
    line = "x = [" + "0, " * 3000 + "]\n"
    assert not Endless(line).feed(line)


@given(st.lists(st.integers(1, 50)))
def test_it_does_not_matter_how_the_answer_comes_in_pieces(sizes: list[int]) -> None:
    answer = "start\n" + "a\nb\n" * 60
    whole, pieces = Endless(), Endless()
    at = 0
    for size in sizes:
        pieces.feed(answer[at : at + size])
        at += size
    pieces.feed(answer[at:])
    assert whole.feed(answer)
    assert pieces.found


@given(st.lists(st.text("abc", max_size=3), max_size=40))
def test_an_answer_of_at_most_forty_lines_is_never_endless(lines: list[str]) -> None:
    assert not Endless().feed("".join(f"{line}\n" for line in lines))
