"""Old texts found in a region, and new ones put in their place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.emission.format import Part
from copydraft.emission.replacing import Replacement, replaced, unique_changes
from copydraft.errors import AnswerRefused
from copydraft.textedits import Change

REGION = "a = 1\nb = 2\nc = 3\nb = 2\n"


def result(region: str, *pairs: tuple[str, str], lines: bool = True) -> str:
    replacements = [Replacement(old, [Part(new, 0, len(new))]) for old, new in pairs]
    return "".join(part.text for part in replaced(region, replacements, lines=lines))


def test_an_old_text_that_occurs_once_is_replaced() -> None:
    assert result(REGION, ("c = 3\n", "c = 4\nd = 5\n")) == "a = 1\nb = 2\nc = 4\nd = 5\nb = 2\n"


def test_old_texts_may_come_in_any_order() -> None:
    assert result(REGION, ("c = 3\n", ""), ("a = 1\n", "a\n")) == "a\nb = 2\nb = 2\n"


def test_the_last_line_may_lack_its_end() -> None:
    assert result("a\nb", ("b\n", "c\n")) == "a\nc\n"


def test_lines_are_whole_lines() -> None:
    assert result("ab\nb\n", ("b\n", "c\n")) == "ab\nc\n"


def test_a_text_may_begin_and_end_inside_a_line() -> None:
    assert result("return x + 1\n", ("x + 1", "x"), lines=False) == "return x\n"


def test_no_text_begins_or_ends_inside_a_word() -> None:
    for region, old in (("max = 1\n", "x = 1"), ("x = max\n", "x = m")):
        with pytest.raises(AnswerRefused, match="not there"):
            result(region, (old, "y"), lines=False)


def test_blanks_at_the_ends_of_lines_may_differ_and_unchanged_lines_keep_theirs() -> None:
    region = "one  \ntwo\t\nthree \n"
    assert result(region, ("one\ntwo\nthree\n", "one\n2\nthree\n")) == "one  \n2\nthree \n"


def test_a_blank_line_that_the_answer_indents_keeps_its_own_blanks() -> None:
    assert result("a\n\nb\n", ("a\n  \nb\n", "a\n  \nc\n")) == "a\n\nc\n"


def test_blanks_at_line_ends_may_differ_in_a_text_without_last_line_end() -> None:
    assert result("a \nb\n", ("a\nb", "a\nc"), lines=False) == "a \nc\n"


def test_a_text_that_stands_there_exactly_comes_before_one_that_differs_in_blanks() -> None:
    assert result("a \na\n", ("a\n", "b\n")) == "a \nb\n"


def test_a_change_that_changes_nothing_need_not_be_found() -> None:
    assert result(REGION, ("zzz\n", "zzz\n")) == REGION


def test_the_parts_tell_what_is_from_the_answer() -> None:
    parts = replaced("a\nb\nc\n", [Replacement("b\n", [Part("B\n", 10, 12)])], lines=True)
    assert parts == [Part("a\n", 0, 0), Part("B\n", 10, 12), Part("c\n", 0, 0)]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("d = 4\n", "x\n")], "lines that are not there: 'd = 4'"),
        ([("a = 1\n  b = 2\n", "x\n")], "lines that are not there: 'b = 2'"),
        ([("c = 3\na = 1\n", "x\n")], "lines that are not there: 'c = 3'"),
        ([("b = 2\n", "x\n")], "lines that occur 2 times: 'b = 2'"),
        ([("b = 2 \n", "x\n")], "lines that occur 2 times: 'b = 2'"),
        ([("", "x\n")], "does not say which lines to change"),
        ([("a = 1\nb = 2\n", "x\n"), ("b = 2\nc = 3\n", "y\n")], "changes the same lines twice"),
        ([("a = 1\n", "x\n"), ("a = 1\n", "y\n")], "changes the same lines twice"),
    ],
)
def test_what_cannot_be_placed_is_refused(pairs: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(AnswerRefused, match=message) as refused:
        result(REGION, *pairs)
    assert 'the format "fence"' in refused.value.hint


def test_a_text_inside_lines_that_occurs_twice_is_refused() -> None:
    with pytest.raises(AnswerRefused, match="occur 2 times: 'x'"):
        result("x = x\n", ("x", "y"), lines=False)


def test_changes_have_three_lines_around_them() -> None:
    old = [f"{number}\n" for number in range(20)]
    new = [*old[:10], "new\n", *old[11:]]
    assert unique_changes(old, new) == [Change(7, 14, 7, 14)]


def test_changes_grow_until_their_lines_occur_once() -> None:
    x = ["x\n"] * 3
    old = ["start\n", *x, "old\n", *x, *x, "old\n", *x]
    new = ["start\n", *x, "new\n", *x, *x, "old\n", *x]
    assert unique_changes(old, new) == [Change(0, 9, 0, 9)]


def test_texts_without_difference_are_one_change() -> None:
    assert unique_changes(["a\n", "b\n"], ["a\n", "b\n"]) == [Change(0, 2, 0, 2)]


few_lines = st.lists(st.sampled_from(["a\n", "b\n", "\n", "  a\n"]), min_size=1, max_size=40)


@given(few_lines, few_lines)
def test_changes_that_are_unique_can_be_made(old: list[str], new: list[str]) -> None:
    pairs = [
        ("".join(old[c.old_start : c.old_end]), "".join(new[c.new_start : c.new_end]))
        for c in unique_changes(old, new)
    ]
    assert result("".join(old), *pairs) == "".join(new)
    assert result("".join(old), *pairs, lines=False) == "".join(new)
