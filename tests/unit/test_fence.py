"""Fenced answers: what the model prints for a text, and the text out of what it printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.emission.fence import FenceFormat, fence_around, language
from copydraft.emission.format import Printed
from copydraft.errors import AnswerRefused

PYTHON = FenceFormat("```", "python")
MARKDOWN = FenceFormat("````", "markdown")

fence_like_lines = st.lists(
    st.sampled_from(
        ["```", "````", "```python", "~~~", "  ```", "``` ", "a", "", "`````js", "x```"]
    )
)
texts = st.one_of(
    st.text(st.characters(codec="utf-8")),
    fence_like_lines.map(lambda lines: "".join(f"{line}\n" for line in lines)),
)


def body(answer: str, form: FenceFormat = PYTHON) -> str:
    return form.body(answer, ended=True).text


@pytest.mark.parametrize(
    ("path", "name"),
    [("a.py", "python"), ("src/App.TSX", "tsx"), ("Makefile", ""), ("README.md", "markdown")],
)
def test_the_language_comes_from_the_file_name(path: str, name: str) -> None:
    assert language(path) == name


@pytest.mark.parametrize(
    ("path", "text", "fence"),
    [
        ("a.py", "x", "```"),
        ("a.py", "a `b` c", "```"),
        ("a.py", '"""\n```\nx\n```\n"""', "````"),
        ("README.md", "no code yet", "````"),
        ("README.md", "`````", "``````"),
    ],
)
def test_the_fence_is_longer_than_any_run_of_backticks(path: str, text: str, fence: str) -> None:
    assert fence_around(path, text) == fence


def test_a_text_is_printed_between_fences() -> None:
    assert PYTHON.emit("", "x = 1\n") == "```python\nx = 1\n```"


def test_every_answer_begins_with_the_fence_and_what_no_token_joins_to_the_text() -> None:
    assert PYTHON.opening == "```python"
    assert FenceFormat("```", "").opening == "```\n"


def test_a_document_is_printed_from_the_opening_line_to_the_closing_one() -> None:
    assert PYTHON.printed("f.py", "x = 1") == [Printed("text", "```python", "\nx = 1\n```")]


def test_a_last_line_without_newline_gets_one() -> None:
    assert PYTHON.emit("", "x = 1") == "```python\nx = 1\n```"


def test_an_empty_text_is_an_empty_block() -> None:
    assert PYTHON.emit("", "") == "```python\n```"


@given(texts, st.sampled_from(["a.py", "a.md", "a"]))
def test_what_is_printed_is_read_back(text: str, path: str) -> None:
    form = FenceFormat.for_document(path, text)
    whole = text if not text or text.endswith("\n") else text + "\n"
    assert form.body(form.emit("", text), ended=False).text == whole


@given(texts, st.data())
def test_a_reader_fed_in_pieces_stops_exactly_at_the_end(text: str, data: st.DataObject) -> None:
    form = FenceFormat.for_document("a.md", text)
    answer = form.emit("", text) + "\n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(answer) - 1))))
    reader = form.reader()
    pieces = [answer[a:b] for a, b in zip([0, *cuts], [*cuts, len(answer) - 1], strict=True)]
    assert not any(reader.feed(piece) for piece in pieces)
    assert reader.feed("\n")


def test_offsets_tell_where_the_text_stands_in_the_answer() -> None:
    answer = "Here you are:\n\n```python\nx = 1\n```\nDone."
    parsed = PYTHON.body(answer, ended=True)
    assert parsed == ("x = 1\n", 25, 31)
    assert answer[25:31] == "x = 1\n"


@pytest.mark.parametrize(
    "answer",
    [
        "Sure! Here it is:\n```python\nx = 1\n```\nI hope this helps.",
        "```\nx = 1\n```",
        "```py\nx = 1\n```",
        "~~~python\nx = 1\n~~~",
        "````python\nx = 1\n````",
        "  ```python\nx = 1\n  ```",
        "```python\nx = 1\n```\n\nUse it so:\n\n```python\nprint(x)\n```",
        "<think>\nLet me see:\n```python\nwrong\n```\n</think>\n\n```python\nx = 1\n```",
        "<think>hm</think>```python\nx = 1\n```",
    ],
)
def test_prose_thinking_and_later_blocks_are_dropped(answer: str) -> None:
    assert body(answer) == "x = 1\n"


def test_thinking_that_never_ends_holds_no_code() -> None:
    with pytest.raises(AnswerRefused, match="without a code block"):
        body("<think>\n```python\nx = 1\n```\n")


def test_an_answer_of_prose_is_refused() -> None:
    with pytest.raises(AnswerRefused, match="without a code block"):
        body("I cannot do that.")


def test_a_block_that_the_model_left_open_at_its_own_end_is_taken() -> None:
    assert body("```python\nx = 1\ny = 2") == "x = 1\ny = 2"


def test_a_block_cut_off_by_the_limit_is_refused() -> None:
    with pytest.raises(AnswerRefused, match="cut off"):
        PYTHON.body("```python\nx = 1\ny = 2", ended=False)


def test_a_closing_fence_as_the_very_last_token_is_enough() -> None:
    assert PYTHON.body("```python\nx = 1\n```", ended=False).text == "x = 1\n"


def test_a_closing_fence_behind_code_closes() -> None:
    assert body("```python\nx = 1```") == "x = 1"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Text\n", "````markdown\nText\n```"),
        ("```sh\nmake\n```\n", "````markdown\n```sh\nmake\n```\n```\n"),
        ("```sh\nmake\n```", "````markdown\n```sh\nmake\n```"),
        ("```\nmake\n```\n", "````markdown\n```\nmake\n```\n```"),
    ],
)
def test_a_closing_fence_that_is_too_short_closes_if_no_inner_block_is_open(
    text: str, answer: str
) -> None:
    assert body(answer, MARKDOWN) == text


def test_inner_blocks_with_a_shorter_fence_are_text() -> None:
    answer = "````markdown\nRun:\n```sh\nmake\n```\n````"
    assert body(answer, MARKDOWN) == "Run:\n```sh\nmake\n```\n"


def test_an_inner_block_that_names_its_language_is_text_even_in_an_equal_fence() -> None:
    answer = "```python\ndef f():\n    '''\n```python\nf()\n```\n'''\n```\nDone"
    assert body(answer) == "def f():\n    '''\n```python\nf()\n```\n'''\n"


def test_with_too_short_a_fence_the_outermost_block_is_taken() -> None:
    answer = "```markdown\nRun:\n```\nmake\n```\nThen:\n```sh\nls\n```\n```"
    assert body(answer, MARKDOWN) == "Run:\n```\nmake\n```\nThen:\n```sh\nls\n```\n"


def test_with_too_short_a_fence_decoding_goes_on_to_the_models_own_end() -> None:
    assert not MARKDOWN.reader().feed("```markdown\nRun:\n```\nmake\n```\n")


def test_with_too_short_a_fence_a_cut_answer_is_refused() -> None:
    with pytest.raises(AnswerRefused, match="cut off"):
        MARKDOWN.body("```markdown\nRun:\n```\nmake", ended=False)


def test_an_indented_fence_inside_a_longer_one_does_not_close() -> None:
    assert body("````python\n    ```\n    x\n    ```\n````", FenceFormat("````", "python")) == (
        "    ```\n    x\n    ```\n"
    )


EXAMPLE = 'def f():\n    """\n    ```\n    f()\n    ```\n    """\n'


def test_a_block_in_a_docstring_does_not_close_an_equal_fence() -> None:
    answer = f"```python\n{EXAMPLE}```\nDone"
    assert body(answer) == EXAMPLE
    assert not PYTHON.reader().feed(f"```python\n{EXAMPLE}")
    assert PYTHON.reader().feed(answer)


def test_a_block_in_a_docstring_does_not_close_an_answer_that_was_left_open() -> None:
    assert body(f"```python\n{EXAMPLE}") == EXAMPLE


@pytest.mark.parametrize("after", ["", "\nDone.", "\n"])
def test_an_indented_closing_fence_closes_if_no_other_does(after: str) -> None:
    assert body(f"```python\n{EXAMPLE}    ```{after}") == EXAMPLE
