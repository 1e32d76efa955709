"""Where a completion ends, and what of it is there already."""

from __future__ import annotations

import pytest

from copydraft.prompts.completion_end import Place, end_of, without_rest


def completed(answer: str, head: str = "", rest: str = "", behind: str = "") -> str:
    """What is kept of an answer; it is looked at after every character, as it is written."""
    place = Place(head, rest, behind)
    for count in range(1, len(answer) + 1):
        end = end_of(answer[:count], place)
        if end is not None:
            assert end == end_of(answer[:count], place, final=True)
            return answer[:end]
    return answer[: end_of(answer, place, final=True)]


def test_inside_of_a_line_it_is_the_rest_of_that_line() -> None:
    assert completed("a, b\nc\n", head="f(", rest=")") == "a, b"


def test_blanks_behind_the_place_are_not_text() -> None:
    assert completed("\n    a\n", head="if x:", rest="  ") == "\n    a\n"


def test_at_a_lines_end_it_may_have_several_lines() -> None:
    assert completed(" 1\nb = 2\nc = 3", head="a =") == " 1\nb = 2\nc = 3"


def test_a_blank_line_ends_it() -> None:
    assert completed(" 1\nb = 2\n\nc = 3\n", head="a =") == " 1\nb = 2\n"


def test_a_blank_line_before_any_text_does_not_end_it() -> None:
    assert completed("\n\ndef f():\n    pass", head="import os") == "\n\ndef f():\n    pass"


def test_a_dedent_ends_it() -> None:
    assert completed("x = 1\n    y = 2\nz = 3\n", head="    ") == "x = 1\n    y = 2\n"


def test_the_end_of_the_block_that_it_begins_ends_it() -> None:
    answer = "\n    return x\nprint(f(1))\n"
    assert completed(answer, head="def f(x):") == "\n    return x\n"


def test_the_line_that_closes_the_block_belongs_to_it() -> None:
    answer = "\n    return x;\n}\nf(1);\n"
    assert completed(answer, head="function f(x) {") == "\n    return x;\n}"


def test_indentation_by_tabs_is_understood() -> None:
    answer = "x()\n\t\ty()\n\t}\n}\n"
    assert completed(answer, head="\t\t") == "x()\n\t\ty()\n"


def test_a_line_that_stands_behind_the_place_ends_it() -> None:
    answer = " a\n    y = b\n    return y\n"
    assert completed(answer, head="    x =", behind="\n    return y\n") == " a\n    y = b\n"


def test_what_repeats_the_next_line_at_once_is_nothing() -> None:
    assert completed("return y\n", head="    ", behind="\n\n    return y\n") == ""


def test_a_line_alike_the_one_that_is_being_typed_is_written() -> None:
    assert completed(" 0,", head="    0, 0,", behind="\n    0, 0, 0,\n") == " 0,"


def test_an_end_is_known_only_when_nothing_can_change_it() -> None:
    place = Place("a =", "", "")
    assert end_of(" 1\n", place) is None
    assert end_of(" 1\n   ", place) is None
    assert end_of(" 1\n\n", place) == 3


@pytest.mark.parametrize(
    ("line", "text", "kept"),
    [
        ("f(|)", "a, b)", "a, b"),
        ("f(|)", "g(a)", "g(a)"),
        ("x[|]", "y[0]]", "y[0]"),
        ('f("|")', 'hello")', "hello"),
        ("super(|)", ").call(a)", ").call(a"),
        ("f(|): void {", "value: string): void {", "value: string"),
        ("f(|b)", "a, ", "a, "),
        ("a = | + 1", "b + 1", "b"),
        ("f(|area(1.0))", "area(1.0), area(2.0))", ""),
        ("f(|area(1.0))", "are, ", "are, "),
    ],
)
def test_the_rest_of_the_line_is_not_written_again(line: str, text: str, kept: str) -> None:
    head, rest = line.split("|")
    assert without_rest(text, Place(head, rest, "")) == kept
