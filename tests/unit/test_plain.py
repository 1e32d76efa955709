"""Plain answers: the new text and nothing else."""

from __future__ import annotations

import pytest

from copydraft.emission.format import Part, Printed
from copydraft.emission.plain import PlainFormat
from copydraft.errors import AnswerRefused

FORM = PlainFormat()


def test_the_answer_is_the_text() -> None:
    assert (FORM.opening, FORM.emit("a\n", "b\n")) == ("", "b\n")
    assert FORM.printed("f.py", "b\n") == [Printed("text", "", "b\n")]
    assert FORM.parse("  b\n", "a\n", ended=True) == [Part("  b\n", 0, 4)]


def test_thinking_before_it_is_dropped() -> None:
    assert FORM.parse("<think>\nb?\n</think>\n\n  b\n", "a\n", ended=True) == [
        Part("  b\n", 21, 25)
    ]


def test_thinking_without_an_answer_is_no_deletion() -> None:
    with pytest.raises(AnswerRefused, match="thought and gave no answer"):
        FORM.parse("<think>\ndelete a?\n", "a\n", ended=True)


def test_only_the_model_ends_it() -> None:
    assert not FORM.reader().feed("```\nb\n```\n\n")


def test_an_answer_cut_off_is_refused() -> None:
    with pytest.raises(AnswerRefused, match="cut off"):
        FORM.parse("b", "a\n", ended=False)


def test_a_code_block_is_refused_with_the_setting_for_it() -> None:
    with pytest.raises(AnswerRefused, match="with a code block") as refused:
        FORM.parse("```\nb\n```", "a\n", ended=True)
    assert refused.value.hint == 'use the format "fence" (setting `edit_format`)'


def test_a_fence_that_the_region_begins_with_is_text() -> None:
    region = "```sh\nmake\n```\n"
    assert FORM.parse(region, region, ended=True) == [Part(region, 0, 15)]
