"""From a place in a text to the prompt, and from the answer to what is put in there."""

from __future__ import annotations

import pytest

from copydraft.errors import BadRequest, ModelProblem
from copydraft.prompts.complete import Prepared, finish, prepare
from copydraft.protocol import CompleteRequest, CompleteResult, Generation, Span
from copydraft.tokens import FillTokens
from tests.fixtures.fake_service import stats
from tests.fixtures.word_tokenizer import WordTokenizer

MARKS = ("<before>", "<behind>", "<middle>", "<repo>", "<file>", "<first>")
TOKENIZER = WordTokenizer(*MARKS)
BEFORE, BEHIND, MIDDLE, REPO, FILE, _ = (TOKENIZER.encode(mark, special=True)[0] for mark in MARKS)
PLAIN = FillTokens(BEFORE, BEHIND, MIDDLE, None, None, frozenset({BEFORE, BEHIND, MIDDLE}))
NAMED = PLAIN._replace(repository=REPO, file=FILE)
SUFFIX_FIRST = PLAIN._replace(middle=None)


def prepared(
    text: str,
    fill: FillTokens | None = PLAIN,
    *,
    context: int = 4096,
    first: str = "",
    generation: Generation | None = None,
) -> Prepared:
    """The place is where the text has a bar."""
    offset = text.index("|")
    request = CompleteRequest(
        path="src/f.py",
        text=text.replace("|", ""),
        offset=offset,
        generation=generation or Generation(),
    )
    return prepare(request, TOKENIZER, fill, context=context, first=first)


def prompt(text: str, fill: FillTokens = PLAIN, **options: str) -> str:
    return TOKENIZER.text(prepared(text, fill, **options).prompt)  # type: ignore[arg-type]


def finished(text: str, answer: str, stop_reason: str = "end") -> CompleteResult:
    asked = prepared(text)
    asked.reader.feed(answer)
    return finish(asked, answer, stop_reason, [Span(start=0, end=len(answer))], stats(), [])


def put_in(text: str, written: str, stop_reason: str = "end") -> str:
    """What is put in where the model writes `written` at the bar."""
    return finished(text, prepared(text).beginning + written, stop_reason).text


# --- prompts ---


def test_the_text_before_comes_first_then_the_text_behind_then_the_line_to_go_on_with() -> None:
    assert prompt("import os\n\nx = f(|)\nprint(x)\n") == (
        "«<before>»import os\n\n«<behind>»)\nprint(x)\n«<middle>»x = f"
    )


def test_in_mistrals_order_the_text_before_comes_last() -> None:
    assert (
        prompt("import os\nx = f(|)\n", SUFFIX_FIRST) == "«<behind>»)\n«<before>»import os\nx = f"
    )


def test_files_and_repositories_are_named_where_the_vocabulary_has_tokens_for_it() -> None:
    generation = Generation(workspace="/home/me/project/")
    tokens = prepared("a|\n", NAMED, generation=generation).prompt
    assert TOKENIZER.text(tokens) == (
        "«<repo>»project\n«<file>»src/f.py\n«<before>»«<behind>»\n«<middle>»"
    )
    assert prompt("a|\n", NAMED).startswith("«<file>»src/f.py\n«<before>»")


def test_a_model_that_wants_a_token_first_gets_it() -> None:
    assert prompt("a|\n", first="<first>").startswith("«<first>»«<before>»")


def test_text_that_spells_a_token_is_shown_as_text() -> None:
    assert "<middle>" in prompt("mark = '<middle>'\nx = |\n")
    assert prompt("mark = '<middle>'\nx = |\n").count("«<middle>»") == 1


def test_typing_a_word_changes_nothing_and_typing_a_line_only_the_end_of_the_prompt() -> None:
    text = "import os\n\ntotal = compute(|\nprint(total)\n"
    line = "total = compute("
    prompts = [
        prompt(text.replace(f"{line}|", f"{line[:count]}|")) for count in range(len(line) + 1)
    ]
    assert prompts[1] == prompts[2] == prompts[5]
    assert all(one.startswith(prompts[0]) for one in prompts)


@pytest.mark.parametrize(
    ("head", "beginning"),
    [("x = comp", " comp"), ("x = ", " "), ("    ", "    "), ("print(", "("), ("", "")],
)
def test_the_answer_begins_with_what_may_be_part_of_a_longer_token(
    head: str, beginning: str
) -> None:
    assert prepared(f"a\n{head}|\n").beginning == beginning


def test_the_text_around_the_place_is_drafted_from_as_it_stands() -> None:
    asked = prepared("import os\nx = f(|)\nprint(x)\n")
    assert TOKENIZER.text(list(asked.lead.tokens)) == "import os\nx = f"
    assert TOKENIZER.text(list(asked.documents[-1].tokens)) == ")\nprint(x)\n"
    assert {asked.lead.path, asked.documents[-1].path} == {"src/f.py"}


def test_no_more_of_the_text_is_shown_than_asked_for() -> None:
    lines = "a b c d e f g h\n" * 200
    asked = prepared(f"{lines}|{lines}", generation=Generation(file_context=90))
    assert 45 < len(asked.prompt) <= 90 + 3


def test_the_prompt_leaves_room_for_the_answer() -> None:
    lines = "a b c d e f g h\n" * 200
    asked = prepared(f"{lines}|{lines}", context=200)
    assert asked.max_tokens == 64
    assert len(asked.prompt) + asked.max_tokens <= 200


def test_a_context_without_room_is_refused() -> None:
    with pytest.raises(BadRequest, match="a context of 70 tokens has no room for 64 tokens more"):
        prepared("a|\n", context=70)


def test_a_model_without_the_tokens_is_refused_with_what_to_do() -> None:
    with pytest.raises(ModelProblem, match="cannot complete") as refused:
        prepared("a|\n", None)
    assert "Qwen2.5-Coder" in refused.value.hint


class LeadingBlank(WordTokenizer):
    """Puts a blank before every text, as SentencePiece does."""

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        return super().encode(f" {text}" if text else "", special=special)


def test_the_blank_that_some_tokenizers_put_before_a_text_is_not_in_the_prompt() -> None:
    tokenizer = LeadingBlank(*MARKS)
    request = CompleteRequest(path="f.py", text="import os\nx = f()\n", offset=16)
    asked = prepare(request, tokenizer, PLAIN, context=4096)
    assert tokenizer.text(asked.prompt) == "«<before>»import os\n«<behind>»)\n«<middle>»x = f"


# --- answers ---


def test_the_completion_is_the_answer_without_its_beginning() -> None:
    result = finished("x = comp|\n", " compute(y)")
    assert result.text == "ute(y)"
    assert result.spans == [Span(start=0, end=6)]


def test_spans_tell_what_was_copied() -> None:
    asked = prepared("x = comp|\n")
    spans = [Span(start=0, end=8, corpus="session", path="f.py"), Span(start=8, end=11)]
    result = finish(asked, " compute(y)", "end", spans, stats(), [0.5])
    assert result.spans == [
        Span(start=0, end=3, corpus="session", path="f.py"),
        Span(start=3, end=6),
    ]
    assert result.margins == [0.5]


def test_the_documents_own_line_ends_are_written() -> None:
    assert put_in("a\r\ndef f():|\r\nb\r\n", "\n    x\n    y") == "\r\n    x\r\n    y"


def test_spans_cover_a_completion_with_other_line_ends() -> None:
    result = finished("a\r\ndef f()|\r\n", "():\n    x")
    assert (result.text, result.spans) == (":\r\n    x", [Span(start=0, end=8)])


def test_blank_space_at_the_end_is_left_out() -> None:
    assert put_in("def f():|\n", "\n    x\n    ") == "\n    x"


def test_blank_space_before_the_rest_of_the_line_is_kept() -> None:
    assert put_in("f(|b)\n", "a, ") == "a, "


def test_what_closes_the_line_already_is_not_put_in_again() -> None:
    assert put_in("print(|)\n", "x)") == "x"


@pytest.mark.parametrize("answer", ["", "\n", "   ", "\n\n    "])
def test_nothing_but_blanks_is_nothing(answer: str) -> None:
    assert put_in("x = 1|\n", answer) == ""


def test_a_blank_line_is_not_left_blank() -> None:
    assert put_in("def f():\n    |\n", "\n    x = 1") == ""


def test_a_line_that_the_limit_cut_off_is_left_out() -> None:
    assert put_in("def f():|\n", "\n    x = 1\n    y = lon", "length") == "\n    x = 1"


def test_the_only_line_is_put_in_even_if_the_limit_cut_it_off() -> None:
    assert put_in("x = |\n", "a_very_lon", "length") == "a_very_lon"


def test_an_answer_that_ended_before_its_beginning_was_written_is_nothing() -> None:
    assert finished("x = comp|\n", " co", "cancelled").text == ""


def test_the_reader_ends_where_the_completion_does() -> None:
    reader = prepared("x = comp|\n").reader
    assert not reader.feed(" compute")
    assert not reader.feed("(y)\nz = 1\n")
    assert reader.feed("\n")
