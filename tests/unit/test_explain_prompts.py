"""From a question about code to the prompt, and from the answer to Markdown."""

from __future__ import annotations

import pytest

from copydraft.errors import AnswerRefused, BadRequest
from copydraft.prompts.explain import Prepared, finish, prepare
from copydraft.prompts.template import ChatTemplate
from copydraft.protocol import ExplainRequest, ExplainResult, Region, Span, Turn
from tests.fixtures.fake_service import stats
from tests.fixtures.word_tokenizer import WordTokenizer

TOKENIZER = WordTokenizer("<|im_start|>", "<|im_end|>")
FILE = "import os\n\n\ndef f(x):\n    return x\n"


def prepared(question: str = "", *turns: Turn, text: str = FILE, context: int = 4096) -> Prepared:
    end = len(text.splitlines())
    region = Region(path="f.py", text=text, start=min(3, end - 1), end=end)
    request = ExplainRequest(region=region, question=question, turns=list(turns))
    return prepare(request, TOKENIZER, ChatTemplate(""), context=context, file_context=1000)


def finished(answer: str, stop_reason: str = "end") -> ExplainResult:
    asked = prepared()
    asked.reader.feed(answer)
    spans = [Span(start=0, end=len(answer))]
    return finish(asked, answer, stop_reason, spans, stats(kind="explain"), [])


def test_the_question_stands_last() -> None:
    prompt = TOKENIZER.text(prepared("Why `x`?").prompt)
    assert prompt.endswith(
        f"File: f.py\n```python\n{FILE}```\n"
        "Code in question:\n```python\ndef f(x):\n    return x\n```\n"
        "Why `x`?«<|im_end|>»\n«<|im_start|>»assistant\n"
    )


def test_without_a_question_the_code_is_explained() -> None:
    assert "Explain what this code does" in TOKENIZER.text(prepared().prompt)


def test_an_explanation_is_short() -> None:
    assert prepared().max_tokens == 512


def test_a_region_too_large_for_the_context_is_refused_with_numbers() -> None:
    with pytest.raises(BadRequest, match=r"selected lines are \d+ tokens; a context of 500 tokens"):
        prepared(text="a + b\n" * 100, context=500)


def test_thinking_and_blank_space_around_the_answer_are_dropped() -> None:
    result = finished("<think>\nhm\n</think>\n\nIt returns `x`.\n\n")
    assert result.text == "It returns `x`."
    assert result.spans == [Span(start=0, end=15)]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (["It adds."], "It adds."),
        (["\n<think>", "\nHm. It"], ""),
        (["\n <th", "i"], ""),
        (["<think>Hm.</thi", "nk>\n", "\nIt adds."], "It adds."),
        (["<think>\n\n</think>\n\n"], ""),
        (["<th", "is> is a tag"], "<this> is a tag"),
        (["It adds.", "\n\n<think> is a tag"], "It adds.\n\n<think> is a tag"),
    ],
)
def test_thinking_is_not_shown_while_it_is_written(written: list[str], shown: str) -> None:
    reader = prepared().reader
    for text in written:
        reader.feed(text)
    assert "".join(written)[reader.hidden :] == shown


def test_an_explanation_cut_off_by_the_limit_still_explains() -> None:
    assert finished("It returns", "length").text == "It returns"


def test_an_answer_that_only_looks_like_the_start_of_thinking_is_kept() -> None:
    assert finished("\n<").text == "<"


@pytest.mark.parametrize("answer", ["", " \n", "<think>\nLet me see"])
def test_an_answer_that_says_nothing_is_refused(answer: str) -> None:
    with pytest.raises(AnswerRefused, match="answer is empty"):
        finished(answer)


def test_an_endless_answer_is_stopped_and_refused() -> None:
    with pytest.raises(AnswerRefused, match="repeated itself without end"):
        finished("and so on\n" * 60)


def test_a_conversation_stands_in_the_prompt_as_it_was() -> None:
    prompt = TOKENIZER.text(
        prepared(
            "And `y`?",
            Turn(question="", answer="It returns `x`."),
            Turn(question="Why?", answer="So."),
        ).prompt
    )
    asked = TOKENIZER.text(prepared().prompt)
    assert prompt == (
        f"{asked}It returns `x`.«<|im_end|>»\n"
        "«<|im_start|>»user\nWhy?«<|im_end|>»\n"
        "«<|im_start|>»assistant\nSo.«<|im_end|>»\n"
        "«<|im_start|>»user\nAnd `y`?«<|im_end|>»\n"
        "«<|im_start|>»assistant\n"
    )


def test_a_question_that_follows_must_ask_something() -> None:
    with pytest.raises(BadRequest, match="question is empty"):
        prepared(" ", Turn(question="", answer="It returns `x`."))


def test_the_oldest_turns_are_left_out_of_a_context_that_is_too_small() -> None:
    turns = [Turn(question=f"Question {n}?", answer="word " * 100) for n in range(4)]
    asked = prepared("And?", *turns, context=1200)
    prompt = TOKENIZER.text(asked.prompt)
    assert "Question 0" not in prompt
    assert "```\nQuestion 1?" not in prompt
    assert "```\nQuestion 2?" in prompt
    assert asked.notices == (
        "the conversation is too long for the context: its 2 oldest questions are left out",
    )


def test_answers_that_were_left_out_are_drafted_from() -> None:
    turns = [Turn(question=f"Question {n}?", answer=f"answer {n} " * 100) for n in range(4)]
    texts = [
        TOKENIZER.text(list(each.tokens)) for each in prepared("?", *turns, context=1600).documents
    ]
    assert [text[:8] for text in texts] == ["answer 0", "answer 1"]


def test_nothing_is_said_of_a_conversation_that_fits() -> None:
    asked = prepared("And?", Turn(question="", answer="It returns `x`."))
    assert (asked.notices, asked.documents) == ((), [])
