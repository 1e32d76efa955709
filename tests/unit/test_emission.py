"""What all answer formats promise: text goes through them unharmed, and tokens agree with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from copydraft import paths
from copydraft.emission.fence import whole_lines
from copydraft.emission.format import EmissionFormat, Part, cut, tokens_after
from copydraft.engine.llama import Model
from copydraft.errors import AnswerRefused
from copydraft.tokens import Tokenizer
from tests.fixtures.edits import NASTY, edits, formats
from tests.fixtures.word_tokenizer import WordTokenizer

KINDS = ["fence", "search-replace", "unified-diff", "tool-call", "tool-call between tags", "plain"]
QWEN = paths.models_dir() / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"  # before a test moves home
each_format = pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
texts = st.lists(st.sampled_from([*NASTY, "def f(x):", "    return x"]), min_size=1, max_size=8)


def made_for(kind: int, path: str, *texts: str) -> EmissionFormat:
    """The format; texts that it cannot carry, and is never asked to, are passed over."""
    form = formats(path, *texts)[kind]
    if any("</parameter>" in text for text in texts):
        assume(KINDS[kind] != "tool-call between tags")
    if texts[-1].lstrip().startswith(("<think>", "```", "~~~")):
        # Thinking is no text, and a fence is no plain answer.
        assume(KINDS[kind] != "plain")
    return form


@each_format
@settings(max_examples=60, deadline=None)
@given(edit=edits())
def test_a_real_edit_goes_through_every_format(kind: int, edit: tuple[str, str, str]) -> None:
    path, old, new = edit
    form = made_for(kind, path, old, new)
    parts = form.parse(form.emit(old, new), old, ended=form.name == "plain")
    assert whole_lines("".join(part.text for part in parts)) == whole_lines(new)


@each_format
@settings(max_examples=60, deadline=None)
@given(edit=edits())
def test_parts_of_the_answer_are_what_the_answer_says(
    kind: int, edit: tuple[str, str, str]
) -> None:
    path, old, new = edit
    form = made_for(kind, path, old, new)
    answer = form.emit(old, new)
    parts = form.parse(answer, old, ended=True)
    written = [part for part in parts if len(part.text) == part.end - part.start]
    assert all(answer[part.start : part.end] == part.text for part in written)
    assert all(part.start >= len(form.opening) for part in parts if part.start < part.end)


@each_format
@settings(max_examples=60, deadline=None)
@given(edit=edits(), data=st.data())
def test_an_answer_fed_in_pieces_is_not_complete_before_its_end(
    kind: int, edit: tuple[str, str, str], data: st.DataObject
) -> None:
    path, old, new = edit
    form = made_for(kind, path, old, new)
    answer = form.emit(old, new)
    at = data.draw(st.integers(0, len(answer)))
    reader = form.reader()
    assert not reader.feed(answer[:at])
    assert not reader.feed(answer[at:])


@each_format
@settings(max_examples=60, deadline=None)
@given(edit=edits(), data=st.data())
def test_an_answer_cut_off_before_its_edit_is_whole_is_never_taken_for_one(
    kind: int, edit: tuple[str, str, str], data: st.DataObject
) -> None:
    path, old, new = edit
    assume(old != new)
    form = made_for(kind, path, old, new)
    answer = form.emit(old, new)
    assume(len(answer) > len(form.opening))
    size = data.draw(st.integers(len(form.opening), len(answer) - 1))
    try:
        parts = form.parse(answer[:size], old, ended=False)
    except AnswerRefused:
        return
    assert whole_lines("".join(part.text for part in parts)) == whole_lines(new)


@each_format
def test_every_answer_begins_with_the_opening(kind: int) -> None:
    form = made_for(kind, "f.py", "a\n", "b\n")
    assert form.emit("a\n", "b\n").startswith(form.opening)


@each_format
def test_what_an_answer_prints_of_a_text_is_what_a_document_of_it_has(kind: int) -> None:
    text = 'def f(x):\n    return "x"\n'
    form = made_for(kind, "f.py", text)
    answer = form.emit(text, text)
    printed = [item for item in form.printed("f.py", text) if item.field in ("path", "old", "text")]
    assert printed
    for item in printed:
        body = item.text if form.name != "unified-diff" or item.field == "path" else item.text[1:]
        assert body in answer


def agree(form: EmissionFormat, text: str, tokenizer: Tokenizer) -> None:
    answer = tokenizer.encode(form.emit(text, text))
    opening = tokenizer.encode(form.opening)
    assert answer[: len(opening)] == opening
    for _, before, printed in form.printed("src/f.py", text):
        tokens = tokens_after(before, printed, tokenizer)
        ahead = tokenizer.encode(before)
        whole = tokenizer.encode(before + printed)
        assert whole == [*ahead[: len(whole) - len(tokens)], *tokens]
        assert bytes_of(whole, tokenizer) == (before + printed).encode()
        assert bytes_of(tokens, tokenizer).endswith(printed.encode())


def bytes_of(tokens: list[int], tokenizer: Tokenizer) -> bytes:
    return b"".join(map(tokenizer.piece, tokens))


@each_format
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(lines=texts)
def test_tokens_of_a_document_agree_with_what_stands_before_them(
    kind: int, dense_model: Path, lines: list[str]
) -> None:
    text = "\n".join(lines)
    agree(made_for(kind, "f.py", text), text, _tokenizer(dense_model))


@pytest.mark.skipif(not QWEN.is_file(), reason="this model is not downloaded")
@each_format
@settings(max_examples=40, deadline=None)
@given(lines=texts)
def test_tokens_of_a_document_agree_with_what_stands_before_them_in_a_real_vocabulary(
    kind: int, lines: list[str]
) -> None:
    text = "\n".join(lines)
    agree(made_for(kind, "f.py", text), text, _tokenizer(QWEN))


_TOKENIZERS: dict[Path, Model] = {}


def _tokenizer(path: Path) -> Model:
    if path not in _TOKENIZERS:
        _TOKENIZERS[path] = Model(path, vocab_only=True)
    return _TOKENIZERS[path]


def test_a_token_that_holds_parts_of_both_belongs_to_the_second_text() -> None:
    tokenizer = WordTokenizer()
    assert tokenizer.text(tokens_after("a foo", "bar b", tokenizer)) == "foobar b"


@given(st.lists(st.text(max_size=4)), st.data())
def test_cut_parts_make_up_the_part_of_the_text(pieces: list[str], data: st.DataObject) -> None:
    parts = [Part(piece, 7 * index, 7 * index + 3) for index, piece in enumerate(pieces)]
    text = "".join(pieces)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert "".join(part.text for part in cut(parts, start, end)) == text[start:end]
