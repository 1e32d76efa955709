"""From an edit request to the prompt, and from the answer to the edit."""

from __future__ import annotations

import pytest

from copydraft.errors import AnswerRefused, BadRequest
from copydraft.prompts.edit import Prepared, finish, prepare
from copydraft.prompts.template import ChatTemplate
from copydraft.protocol import EditRequest, EditResult, Generation, Region, Span
from tests.fixtures.fake_service import stats
from tests.fixtures.word_tokenizer import WordTokenizer

TOKENIZER = WordTokenizer("<|im_start|>", "<|im_end|>")
FILE = "import os\n\n\ndef f(x):\n    return x\n\n\nprint(f(1))\n"


def prepared(
    text: str = FILE,
    start: int = 3,
    end: int = 5,
    instruction: str = "rename x to y",
    *,
    path: str = "f.py",
    prediction: str = "",
    max_tokens: int = 0,
    context: int = 4096,
    file_context: int = 1000,
) -> Prepared:
    request = EditRequest(
        region=Region(path=path, text=text, start=start, end=end),
        instruction=instruction,
        prediction=prediction,
        generation=Generation(max_tokens=max_tokens),
    )
    return prepare(request, TOKENIZER, ChatTemplate(""), context=context, file_context=file_context)


def finished(asked: Prepared, answer: str, stop_reason: str = "end") -> EditResult:
    asked.reader.feed(answer)
    spans = [Span(start=0, end=len(answer))]
    return finish(asked, answer, stop_reason, spans, stats(), [])


def test_the_prompt_goes_from_what_stays_to_what_changes_and_ends_in_the_opening_fence() -> None:
    prompt = TOKENIZER.text(prepared().prompt)
    system, user = prompt.split("«<|im_end|>»\n", 1)
    assert system.startswith("«<|im_start|>»system\nYou edit code.")
    assert user == (
        "«<|im_start|>»user\n"
        f"File: f.py\n```python\n{FILE}```\n"
        "Region to rewrite:\n```python\ndef f(x):\n    return x\n```\n"
        "Instruction: rename x to y«<|im_end|>»\n"
        "«<|im_start|>»assistant\n```python"
    )


def test_a_second_edit_of_a_file_shares_all_but_region_and_instruction() -> None:
    first = TOKENIZER.text(prepared(start=0, end=1).prompt)
    second = TOKENIZER.text(prepared(start=7, end=8, instruction="remove it").prompt)
    shared = first[: first.index("import os\n```\nInstruction")]
    assert shared.endswith("Region to rewrite:\n```python\n")
    assert second.startswith(shared)


def test_a_file_that_spells_control_tokens_is_shown_as_text() -> None:
    prompt = TOKENIZER.text(prepared('END = "<|im_end|>"\n', 0, 1).prompt)
    assert prompt.count("«<|im_end|>»") == 2
    assert prompt.count('END = "<|im_end|>"') == 2


def test_the_region_as_the_model_would_print_it_is_a_source_of_drafts() -> None:
    (region,) = prepared().documents
    assert (region.corpus, region.path, region.field) == ("region", "f.py", "text")
    assert TOKENIZER.text(list(region.tokens)) == "\ndef f(x):\n    return x\n```"


def test_a_prediction_is_a_source_before_the_region() -> None:
    prediction, region = prepared(prediction="def f(y):\r\n    return y\r\n").documents
    assert (prediction.corpus, region.corpus) == ("prediction", "region")
    assert TOKENIZER.text(list(prediction.tokens)) == "\ndef f(y):\n    return y\n```"


def test_a_document_with_fences_is_asked_for_in_a_longer_one() -> None:
    text = "# Title\n\n```sh\nmake\n```\n"
    asked = prepared(text, 0, 5, path="README.md")
    assert TOKENIZER.text(asked.prompt).endswith("assistant\n````markdown")
    answer = "\n# Name\n\n```sh\nmake\n```\n````"
    assert finished(asked, answer).text == "# Name\n\n```sh\nmake\n```\n"


def test_the_answer_may_be_twice_the_region_and_some_more() -> None:
    assert prepared().max_tokens == 11 + 13 + 512


def test_the_caller_may_set_the_most_tokens() -> None:
    assert prepared(max_tokens=77).max_tokens == 77


def test_the_answer_never_goes_past_the_context() -> None:
    asked = prepared(context=250)
    assert asked.max_tokens == 250 - len(asked.prompt)


def test_the_file_is_left_out_before_the_answer_gets_too_little_room() -> None:
    assert "Region to rewrite" in TOKENIZER.text(prepared(context=600).prompt)
    assert "File: " not in TOKENIZER.text(prepared(context=600).prompt)


def test_a_region_too_large_for_the_context_is_refused_with_numbers() -> None:
    with pytest.raises(
        BadRequest, match=r"selected lines are 600 tokens; a context of 1000 .* room for 3\d\d"
    ) as refused:
        prepared("a + b\n" * 100, 0, 100, context=1000)
    assert refused.value.hint.endswith(
        "raise the setting `context` and run `copydraft daemon restart`"
    )


def test_lines_outside_the_document_are_refused() -> None:
    with pytest.raises(BadRequest, match="which has 8 lines"):
        prepared(start=3, end=20)


def test_an_empty_instruction_is_refused() -> None:
    with pytest.raises(BadRequest, match="instruction is empty"):
        prepared(instruction=" \n")


def test_the_reader_stops_at_the_closing_fence() -> None:
    reader = prepared().reader
    assert not reader.feed("\ndef f(y):\n    return y\n```")
    assert reader.feed("\n")


def test_the_reader_stops_an_endless_answer() -> None:
    asked = prepared()
    assert asked.reader.feed("\n" + "x = 1\n" * 60)
    with pytest.raises(AnswerRefused, match="repeated itself without end"):
        finished(asked, "\n", "format")


def test_the_answer_takes_the_regions_place() -> None:
    result = finished(prepared(), "\ndef f(y):\n    return y\n```")
    assert result.text == "def f(y):\n    return y\n"
    assert result.diff == (
        "--- a/f.py\n+++ b/f.py\n@@ -1,8 +1,8 @@\n import os\n \n \n-def f(x):\n-    return x\n"
        "+def f(y):\n+    return y\n \n \n print(f(1))\n"
    )
    assert result.answer == "```python\ndef f(y):\n    return y\n```"


def test_an_answer_that_changes_nothing_has_no_diff() -> None:
    result = finished(prepared(), "\ndef f(x):\n    return x\n```")
    assert (result.text, result.diff) == ("def f(x):\n    return x\n", "")


def test_a_region_of_mixed_line_ends_keeps_them() -> None:
    asked = prepared("a\r\nb\nc\r\n", 0, 3, "rename b")
    assert finished(asked, "\na\nx\nc\n```").text == "a\r\nx\r\nc\r\n"


def test_a_region_of_one_unended_line_takes_the_files_line_end() -> None:
    asked = prepared("a\r\nb\r\nc", 2, 3, "add d")
    assert finished(asked, "\nc\nd\n```").text == "c\r\nd"


def test_spans_cover_the_text_and_leave_the_fence_out() -> None:
    answer = "\ndef f(y):\n    return y\n```"
    spans = [
        Span(start=0, end=7, corpus="region", path="f.py"),
        Span(start=7, end=8),
        Span(start=8, end=len(answer), corpus="region", path="f.py"),
    ]
    result = finish(prepared(), answer, "end", spans, stats(), [0.5])
    assert result.spans == [
        Span(start=0, end=6, corpus="region", path="f.py"),
        Span(start=6, end=7),
        Span(start=7, end=23, corpus="region", path="f.py"),
    ]
    assert result.margins == [0.5]


def test_a_closing_line_that_the_selection_left_out_is_not_doubled() -> None:
    asked = prepared("f(\n    a,\n)\n", 0, 2, "add b", path="f.py")
    assert finished(asked, "\nf(\n    a,\n    b,\n)\n```").text == "f(\n    a,\n    b,\n"


def test_an_answer_cut_off_is_refused() -> None:
    with pytest.raises(AnswerRefused, match="cut off"):
        finished(prepared(), "\ndef f(y):\n", "length")


def test_an_answer_that_was_complete_at_the_limit_is_taken() -> None:
    result = finished(prepared(), "\ndef f(y):\n    return y\n```", "length")
    assert result.text == "def f(y):\n    return y\n"


def test_a_placeholder_is_refused() -> None:
    with pytest.raises(AnswerRefused, match=r"left code out: '# \.\.\. existing code \.\.\.'"):
        finished(prepared(), "\ndef f(y):\n    # ... existing code ...\n```")


@pytest.mark.parametrize("answer", ["\n```", "\n\n  \n```", ""])
def test_an_empty_answer_is_refused(answer: str) -> None:
    with pytest.raises(AnswerRefused, match="answer is empty"):
        finished(prepared(), answer)


@pytest.mark.parametrize(
    "instruction",
    [
        "Remove this function",
        "delete",
        "delete it.",
        "Please delete these lines!",
        "get rid of all of this",
        "drop the selected block",
        "remove all the lines, please",
    ],
)
def test_an_empty_answer_to_a_deletion_deletes(instruction: str) -> None:
    result = finished(prepared(instruction=instruction), "\n```")
    assert (result.text, result.spans) == ("", [])


@pytest.mark.parametrize(
    "instruction",
    [
        "make the names clearer",
        "remove the debug prints",
        "remove the function's docstring",
        "delete the comments",
        "drop this line and use f-strings instead",
        "cut the noise",
    ],
)
def test_an_empty_answer_is_refused_where_only_a_part_is_to_go(instruction: str) -> None:
    with pytest.raises(AnswerRefused, match="answer is empty"):
        finished(prepared(instruction=instruction), "\n```")


ABOVE, BELOW = "import os\nimport re\n\n", "\nprint(f(1))\nprint(f(2))\n"
AROUND = f"\n{ABOVE}{BELOW}```"


def test_an_answer_that_only_repeats_the_lines_around_the_region_is_refused() -> None:
    asked = prepared(f"{ABOVE}def f(x):\n    return x\n{BELOW}")
    with pytest.raises(AnswerRefused, match="only repeated the lines around"):
        finished(asked, AROUND)


def test_a_whole_file_without_the_region_deletes_it_if_that_was_asked() -> None:
    text = f"{ABOVE}def f(x):\n    return x\n{BELOW}"
    assert finished(prepared(text, instruction="remove this function"), AROUND).text == ""
