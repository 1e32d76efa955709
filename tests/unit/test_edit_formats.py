"""Edit requests in every answer format: the prompt, and the edit out of the answer."""

from __future__ import annotations

from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from copydraft import cli
from copydraft.config import Config
from copydraft.emission.fence import whole_lines
from copydraft.errors import AnswerRefused
from copydraft.prompts.edit import Prepared, finish, prepare
from copydraft.prompts.template import ChatTemplate
from copydraft.protocol import EditFormat, EditRequest, EditResult, Region, Span
from copydraft.textedits import split_lines
from copydraft.workspace.documents import read_document, write_document
from tests.fixtures.edits import edits
from tests.fixtures.fake_service import stats
from tests.fixtures.templates import QWEN, TAGS
from tests.fixtures.word_tokenizer import WordTokenizer

FORMATS: tuple[EditFormat, ...] = get_args(EditFormat)
CHANGES: tuple[EditFormat, ...] = ("search-replace", "unified-diff", "tool-call")
"""Formats whose answers hold only what changes."""
FILE = "import os\n\n\ndef f(x):\n    return x\n\n\nprint(f(1))\n"


def prepared(
    name: EditFormat,
    *,
    text: str = FILE,
    start: int = 3,
    end: int = 5,
    path: str = "f.py",
    prediction: str = "",
    template: str = "",
    context: int = 4096,
    file_context: int = 1000,
    tokenizer: WordTokenizer | None = None,
) -> Prepared:
    request = EditRequest(
        region=Region(path=path, text=text, start=start, end=end),
        instruction="rename x to y",
        prediction=prediction,
        format=name,
    )
    known = tokenizer or WordTokenizer("<|im_start|>", "<|im_end|>")
    return prepare(
        request, known, ChatTemplate(template), context=context, file_context=file_context
    )


def finished(asked: Prepared, answer: str, stop_reason: str = "end") -> EditResult:
    asked.reader.feed(answer)
    spans = [Span(start=0, end=len(answer))] if answer else []
    return finish(asked, answer, stop_reason, spans, stats(), [])


def answered(asked: Prepared, new: str) -> EditResult:
    """The result of the answer that makes `new` of the region."""
    answer = asked.format.emit(asked.text, new).removeprefix(asked.format.opening)
    return finished(asked, answer)


def test_command_line_settings_and_protocol_know_the_same_formats() -> None:
    assert FORMATS == cli._EDIT_FORMATS
    assert get_args(get_type_hints(Config)["edit_format"]) == FORMATS


def test_the_command_line_hands_the_format_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(
        "copydraft.ask.edit", lambda *_, edit_format, **__: asked.append(edit_format)
    )
    monkeypatch.setattr("copydraft.terminal_models.ready", lambda name: name)
    (tmp_path / "f.py").write_text(FILE)
    command = ["edit", str(tmp_path / "f.py"), "-i", "rename x to y"]
    assert CliRunner().invoke(cli.cli, command).exit_code == 0
    assert CliRunner().invoke(cli.cli, [*command, "--format", "plain"]).exit_code == 0
    assert CliRunner().invoke(cli.cli, [*command, "--format", "poem"]).exit_code == 2
    assert asked == ["", "plain"]


def test_a_request_without_a_format_takes_the_one_of_the_settings() -> None:
    request = EditRequest(region=Region(path="f.py", text=FILE, start=3, end=5), instruction="x")
    asked = prepare(
        request,
        WordTokenizer(),
        ChatTemplate(""),
        context=4096,
        file_context=0,
        edit_format="unified-diff",
    )
    assert asked.format.name == "unified-diff"


@pytest.mark.parametrize(
    ("name", "opening"),
    [
        ("fence", "```python"),
        ("search-replace", "```python\n<<<<<<< SEARCH"),
        ("unified-diff", "```diff\n---"),
        ("tool-call", '{"name": "edit_file", "arguments": {"path":'),
        ("plain", ""),
    ],
)
def test_the_prompt_ends_in_the_opening_of_its_format(name: EditFormat, opening: str) -> None:
    tokenizer = WordTokenizer("<|im_start|>", "<|im_end|>")
    prompt = tokenizer.text(prepared(name, tokenizer=tokenizer).prompt)
    assert prompt.endswith(f"«<|im_start|>»assistant\n{opening}")


@pytest.mark.parametrize("name", FORMATS)
def test_an_edit_in_any_format_takes_the_regions_place(name: EditFormat) -> None:
    result = answered(prepared(name), "def f(y):\n    return y\n")
    assert result.text == "def f(y):\n    return y\n"
    assert "-def f(x):\n-    return x\n+def f(y):\n+    return y\n" in result.diff


@pytest.mark.parametrize("answer", ["", "\n", "<think>\n</think>\n\n"])
def test_a_plain_answer_without_text_deletes_nothing(answer: str) -> None:
    with pytest.raises(AnswerRefused, match="the model's answer is empty"):
        finished(prepared("plain"), answer)


@pytest.mark.parametrize("name", FORMATS)
def test_spans_cover_the_text(name: EditFormat) -> None:
    result = answered(prepared(name, start=0, end=8), FILE.replace("return x", "return 'x'"))
    assert result.spans[0].start == 0
    assert result.spans[-1].end == len(result.text)
    assert all(a.end == b.start for a, b in zip(result.spans, result.spans[1:], strict=False))


@pytest.mark.parametrize("name", CHANGES)
def test_lines_that_the_answer_does_not_name_come_from_the_region(name: EditFormat) -> None:
    text = "".join(f"line {number}\n" for number in range(20))
    result = answered(prepared(name, text=text, start=0, end=20), text.replace("18", "new"))
    assert result.spans[0].corpus == "region"
    assert result.text[result.spans[0].end :].startswith("line 15\n")


def test_a_source_is_kept_through_escapes_and_line_ends() -> None:
    asked = prepared("tool-call", text="a\r\nb\r\n", start=0, end=2)
    answer = r' "f.py", "old": "b\n", "new": "\"c\"\n"}}'
    at = answer.index('c\\"')
    spans = [
        Span(start=0, end=at),
        Span(start=at, end=at + 1, corpus="session", path="p"),
        Span(start=at + 1, end=len(answer)),
    ]
    result = finish(asked, answer, "end", spans, stats(), [])
    assert result.text == 'a\r\n"c"\r\n'
    assert result.spans == [
        Span(start=0, end=3, corpus="region", path="f.py"),
        Span(start=3, end=4),
        Span(start=4, end=5, corpus="session", path="p"),
        Span(start=5, end=8),
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_the_region_as_the_model_would_print_it_is_a_source_of_drafts(name: EditFormat) -> None:
    tokenizer = WordTokenizer("<|im_start|>", "<|im_end|>")
    asked = prepared(name, tokenizer=tokenizer)
    (region,) = asked.documents
    printed = asked.format.emit(asked.text, asked.text)
    assert asked.format.opening + tokenizer.text(list(region.tokens)) == printed


@pytest.mark.parametrize("name", FORMATS)
def test_a_prediction_is_the_answer_that_would_make_it(name: EditFormat) -> None:
    tokenizer = WordTokenizer("<|im_start|>", "<|im_end|>")
    new = "def f(y):\n    return y\n"
    asked = prepared(name, prediction=new, tokenizer=tokenizer)
    answer = tokenizer.text(list(asked.documents[0].tokens))
    assert finished(asked, answer).text == new


@pytest.mark.parametrize("name", CHANGES)
@settings(max_examples=30, deadline=None)
@given(edit=edits(), end=st.sampled_from(["\r\n", "\n", "\r"]), above=st.sampled_from(["", "1\n"]))
def test_an_edit_of_changes_is_made_to_the_byte_whatever_the_line_ends(
    name: EditFormat, edit: tuple[str, str, str], end: str, above: str
) -> None:
    path, old, new = edit
    assume(new.strip())  # else it is refused as empty
    text = (above + old).replace("\n", end)
    asked = prepared(
        name,
        text=text,
        start=len(split_lines(above)),
        end=len(split_lines(text)),
        path=path,
        prediction=new,
        context=100_000,
        file_context=0,
    )
    expected = whole_lines(new) if old.endswith("\n") else new.removesuffix("\n")
    assert answered(asked, new).text == expected.replace("\n", end)


def test_byte_order_mark_tabs_and_a_missing_final_newline_stay(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_bytes("\ufeffdef f():\r\n\treturn '😀'\r\n\treturn x".encode())
    document = read_document(path)
    asked = prepared("tool-call", text=document.text, start=0, end=3)
    result = answered(asked, "def f():\n\treturn '😀'\n\treturn y\n")
    write_document(document, result.text)
    assert path.read_bytes() == "\ufeffdef f():\r\n\treturn '😀'\r\n\treturn y".encode()


def test_an_edit_of_changes_may_take_blank_lines_and_indentation_away() -> None:
    asked = prepared("search-replace", text="\n    a\n    b\n", start=0, end=3)
    assert answered(asked, "a\nb\n").text == "a\nb\n"


@pytest.mark.parametrize("name", CHANGES)
def test_a_placeholder_is_refused_in_any_format(name: EditFormat) -> None:
    with pytest.raises(AnswerRefused, match="left code out"):
        answered(prepared(name), "def f(x):\n    # ... existing code ...\n")


@pytest.mark.parametrize("name", ["tool-call", "unified-diff"])
def test_an_answer_as_long_as_the_region_printed_is_not_endless(name: EditFormat) -> None:
    text = "x = [\n" + "    0,\n" * 400 + "]\n"
    asked = prepared(name, text=text, start=0, end=402, context=100_000)
    answer = asked.format.emit(text, text).removeprefix(asked.format.opening)
    assert not any(asked.reader.feed(answer[at : at + 5]) for at in range(0, len(answer), 5))


def test_calls_are_in_the_models_own_syntax_and_it_is_shown_the_tool() -> None:
    tokenizer = WordTokenizer("<|im_start|>", "<|im_end|>")
    prompt = tokenizer.text(prepared("tool-call", template=QWEN, tokenizer=tokenizer).prompt)
    assert prompt.startswith('{"type": "function", "function": {"name": "edit_file"')
    assert prompt.endswith('<tool_call>\n{"name": "edit_file", "arguments": {"path":')


def test_a_model_without_tools_is_told_what_a_call_looks_like() -> None:
    tokenizer = WordTokenizer("<|im_start|>", "<|im_end|>")
    prompt = tokenizer.text(prepared("tool-call", tokenizer=tokenizer).prompt)
    assert (
        '{"name": "edit_file", "arguments": {"path": "...", "old": "...", "new": "..."}}' in prompt
    )


def test_a_region_that_spells_the_models_tags_is_edited_by_json() -> None:
    text = "a\n</parameter>\n<parameter=old>\n"
    asked = prepared("tool-call", template=TAGS, text=text, start=0, end=3)
    assert answered(asked, text.replace("a", "b")).text == text.replace("a", "b")


def test_the_name_of_a_file_never_becomes_a_control_token() -> None:
    tokenizer = WordTokenizer("<|im_start|>", "<|im_end|>")
    for name in FORMATS:
        asked = prepared(name, path="<|im_end|>.py", tokenizer=tokenizer)
        assert tokenizer.text(asked.prompt).count("«<|im_end|>»") == 2
