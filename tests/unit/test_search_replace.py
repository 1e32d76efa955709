"""Search/replace blocks: printed, followed, and read back as edits of the region."""

from __future__ import annotations

import pytest

from copydraft.emission.fence import FenceFormat
from copydraft.emission.format import Part, Printed
from copydraft.emission.search_replace import SearchReplaceFormat
from copydraft.errors import AnswerRefused

FORM = SearchReplaceFormat(FenceFormat("```", "python"))
REGION = "def f(x):\n    return x\n\n\nprint(f(1))\n"
BLOCK = "<<<<<<< SEARCH\n    return x\n=======\n    return y\n>>>>>>> REPLACE\n"


def changed(answer: str, region: str = REGION, *, ended: bool = True) -> str:
    return "".join(part.text for part in FORM.parse(answer, region, ended=ended))


def test_every_answer_begins_with_the_first_block() -> None:
    assert FORM.opening == "```python\n<<<<<<< SEARCH"


def test_an_edit_is_the_lines_that_change_and_three_around_them() -> None:
    assert FORM.emit("a\nb\nc\nd\ne\nf\n", "A\nb\nc\nd\ne\nf\n") == (
        "```python\n<<<<<<< SEARCH\na\nb\nc\nd\n=======\nA\nb\nc\nd\n>>>>>>> REPLACE\n```"
    )


def test_changes_far_apart_are_blocks_of_their_own() -> None:
    old = "".join(f"{number}\n" for number in range(30))
    new = old.replace("5\n", "five\n", 1).replace("28\n", "last\n")
    assert FORM.emit(old, new).count("<<<<<<< SEARCH") == 2


def test_a_document_is_printed_as_old_and_as_new_lines() -> None:
    assert FORM.printed("f.py", "a\nb") == [
        Printed("old", "<<<<<<< SEARCH", "\na\nb\n======="),
        Printed("new", "=======", "\na\nb\n>>>>>>> REPLACE"),
    ]


def test_markers_are_longer_than_any_in_the_document() -> None:
    form = SearchReplaceFormat.for_document("a.rst", "Title\n==========\n")
    assert form.opening == "```\n<<<<<<<<<<< SEARCH"
    assert form.divider == "==========="


def test_signs_inside_a_line_are_no_markers() -> None:
    assert SearchReplaceFormat.for_document("a.py", "x = '=========='\n").width == 7


def test_a_block_changes_its_lines() -> None:
    assert changed(f"```python\n{BLOCK}```") == REGION.replace("return x", "return y")


def test_the_new_lines_are_told_apart_from_the_regions() -> None:
    answer = f"```python\n{BLOCK}```"
    at = answer.index("    return y")
    assert FORM.parse(answer, REGION, ended=True) == [
        Part("def f(x):\n", 0, 0),
        Part("    return y\n", at, at + 13),
        Part("\n\nprint(f(1))\n", 0, 0),
    ]


def test_prose_and_blank_lines_between_blocks_are_skipped() -> None:
    second = "<<<<<<< SEARCH\nprint(f(1))\n=======\nprint(f(2))\n>>>>>>> REPLACE\n"
    answer = f"```python\n{BLOCK}\nAnd the call:\nf.py\n{second}```\nDone."
    assert changed(answer) == "def f(x):\n    return y\n\n\nprint(f(2))\n"


def test_no_new_lines_delete() -> None:
    answer = "```\n<<<<<<< SEARCH\n    return x\n=======\n>>>>>>> REPLACE\n```"
    assert changed(answer) == "def f(x):\n\n\nprint(f(1))\n"


def test_a_divider_among_the_new_lines_is_text() -> None:
    answer = "```\n<<<<<<< SEARCH\nprint(f(1))\n=======\nTitle\n=======\n>>>>>>> REPLACE\n```"
    assert changed(answer).endswith("\nTitle\n=======\n")


def test_shorter_markers_are_text_where_longer_ones_were_asked_for() -> None:
    form = SearchReplaceFormat(FenceFormat("```", ""), 8)
    region = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"
    answer = form.emit(region, region.replace("x", "z"))
    assert "".join(p.text for p in form.parse(answer, region, ended=False)) == (
        "<<<<<<< SEARCH\nz\n=======\ny\n>>>>>>> REPLACE\n"
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("```python\nreturn y\n```", "without a search/replace block"),
        ("```python\n<<<<<<< SEARCH\n    return x\n```", "left a search/replace block open"),
        ("```\n<<<<<<< SEARCH\nx\n=======\ny\n```", "left a search/replace block open"),
        ("```\n<<<<<<< SEARCH\n=======\ny\n>>>>>>> REPLACE\n```", "does not say which lines"),
        ("```\n<<<<<<< SEARCH\nz\n=======\ny\n>>>>>>> REPLACE\n```", "not there: 'z'"),
        ("I cannot do that.", "without a code block"),
    ],
)
def test_an_answer_that_is_no_edit_is_refused(answer: str, message: str) -> None:
    with pytest.raises(AnswerRefused, match=message):
        changed(answer)


def test_an_answer_cut_off_is_refused_though_a_block_of_it_is_whole() -> None:
    with pytest.raises(AnswerRefused, match="cut off"):
        changed(f"```python\n{BLOCK}<<<<<<< SEARCH\npri", ended=False)


SECOND = "```python\n<<<<<<< SEARCH\nprint(f(1))\n=======\nprint(f(2))\n>>>>>>> REPLACE\n```"


@pytest.mark.parametrize("between", ["\n", "\n\n\n", "\n  "])
def test_every_change_may_have_a_fence_of_its_own(between: str) -> None:
    answer = f"```python\n{BLOCK}```{between}{SECOND}"
    assert changed(answer) == "def f(x):\n    return y\n\n\nprint(f(2))\n"
    assert not FORM.reader().feed(answer)


def test_a_second_fence_that_is_cut_off_refuses_the_first() -> None:
    with pytest.raises(AnswerRefused, match="cut off"):
        changed(f"```python\n{BLOCK}```\n{SECOND[:-20]}", ended=False)


def test_an_example_in_a_later_fence_is_no_change() -> None:
    answer = f"```python\n{BLOCK}```\n\n```python\nprint(f(3))\n```\n"
    assert changed(answer) == REGION.replace("return x", "return y")


@pytest.mark.parametrize("rest", ["\nDone.", "\n\nD"])
def test_the_answer_is_complete_when_something_else_follows_its_fence(rest: str) -> None:
    reader = FORM.reader()
    assert not reader.feed(f"```python\n{BLOCK}")
    assert not reader.feed("```\n\n")
    assert reader.feed(rest)


@pytest.mark.parametrize("size", range(1, 12))
def test_the_size_of_pieces_does_not_matter(size: int) -> None:
    answer = f"```python\n{BLOCK}```\n{SECOND}\nDone."
    reader = FORM.reader()
    fed = [reader.feed(answer[at : at + size]) for at in range(0, len(answer), size)]
    assert fed.index(True) == (len(answer) - 5) // size
