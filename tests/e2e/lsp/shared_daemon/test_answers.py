"""What becomes of a document when a model answers in its own way: one that says what it is told."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from pygls.exceptions import JsonRpcException

from tests.fixtures.editor import Editor, editing
from tests.fixtures.tiny_models import write_scripted

AnsweringModel = Callable[..., Path]

EDIT, EXPLAIN = "copydraft.edit", "copydraft.explain"
PYTHON = "```python"
TEXT = "a = 1\nb = 1\n"


async def edited(
    editor: Editor, text: str, *, uri: str = "file:///w/a.py", lines: tuple[int, int] | None = None
) -> str:
    """The document `text` after an edit of `lines`, or of all."""
    editor.open(text, uri)
    asked = editor.arguments(uri, lines or (0, len(text.splitlines())), instruction="change it")
    await editor.command(EDIT, asked)
    return editor.texts[uri]


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "a = 1\nb = 1",
        "a = 1\r\nb = 1\r\n",
        "a = 1\r\nb = 1",
        "a = 1\r\nb = 1\nc = 1\r\n",
        "\ufeffa = 1\r\nb = 1\r\n",
        "\n\na = 1\n\n\n",
        "\ta = 1  \n    b = 1\n",
        "e\u0301μ = '😀'\n",
    ],
    ids=[
        "plain",
        "no final newline",
        "crlf",
        "crlf without the last",
        "mixed line ends",
        "byte order mark",
        "blank lines around",
        "tabs and blanks at the end",
        "characters of several units",
    ],
)
async def test_the_same_lines_again_are_no_edit(answering_model: AnsweringModel, text: str) -> None:
    printed = text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n")
    model = str(answering_model(f"\n{printed}\n```", after=PYTHON))
    async with editing(options={"model": model}) as editor:
        assert await edited(editor, text) == text
        assert editor.applied == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("\na = 1\nb = 2\n```\nI set b.\n", "a = 1\nb = 2\n"),
        ("\na = 1\nb = 2\n", "a = 1\nb = 2\n"),
        ("\na = 1\nb = 2```", "a = 1\nb = 2\n"),
    ],
    ids=["prose behind it", "a fence that is never closed", "a fence closed behind code"],
)
async def test_the_code_of_an_answer_is_found(
    answering_model: AnsweringModel, answer: str, expected: str
) -> None:
    async with editing(options={"model": str(answering_model(answer, after=PYTHON))}) as editor:
        assert await edited(editor, TEXT) == expected


async def test_a_language_without_a_tag_is_edited(answering_model: AnsweringModel) -> None:
    model = str(answering_model("b = 2\n```", after="```\n"))
    async with editing(options={"model": model}) as editor:
        text = await edited(editor, TEXT, uri="file:///w/a.unheard", lines=(1, 2))
    assert text == "a = 1\nb = 2\n"


async def test_a_character_that_comes_byte_by_byte_is_shown_when_it_is_whole(
    tmp_path: Path,
) -> None:
    crab = [bytes([byte]).decode("utf-8", "surrogateescape") for byte in "🦀".encode()]
    said = [PYTHON, "\n", *crab, "\n```"]
    table = dict(itertools.pairwise(said))
    model = write_scripted(tmp_path / "bytes.gguf", table, [PYTHON, "\n```"])
    async with editing(options={"model": str(model)}) as editor:
        uri = editor.open("x\n")
        asked = editor.arguments(uri, (0, 1), instruction="be a crab", id="one")
        stats = (await editor.command(EDIT, asked))["stats"]
    assert stats["output_tokens"] > len(crab)
    assert editor.texts[uri] == "🦀\n"
    assert editor.deltas[-1].text == "\n🦀\n```"


@pytest.mark.parametrize("inner", ["```", "````"])
async def test_code_blocks_inside_of_markdown_do_not_end_the_answer(
    answering_model: AnsweringModel, inner: str
) -> None:
    text = f"# Use\n{inner}sh\nrun\n{inner}\nThat is all.\n"
    fence = "`" * (len(inner) + 1)
    new = f"# Use\n{inner}sh\nrun --fast\n{inner}\nThat is all.\n"
    model = str(answering_model(f"\n{new}{fence}", after=f"{fence}markdown"))
    async with editing(options={"model": model}) as editor:
        assert await edited(editor, text, uri="file:///w/a.md") == new


async def test_a_block_with_wrong_indentation_gets_its_own(answering_model: AnsweringModel) -> None:
    text = "class A:\n    def f(self):\n        return 1\n"
    model = str(answering_model("\ndef f(self):\n    return 2\n```", after=PYTHON))
    async with editing(options={"model": model}) as editor:
        changed = await edited(editor, text, lines=(1, 3))
    assert changed == "class A:\n    def f(self):\n        return 2\n"


async def test_thinking_is_not_written_into_the_document(answering_model: AnsweringModel) -> None:
    model = str(answering_model("<think>\nb may be 2\n</think>\n\na = 1\nb = 3\n"))
    async with editing(options={"model": model, "editFormat": "plain"}) as editor:
        assert await edited(editor, TEXT) == "a = 1\nb = 3\n"


async def test_thinking_is_no_part_of_an_explanation(answering_model: AnsweringModel) -> None:
    model = str(answering_model("<think>\nhm\n</think>\n\nTwo numbers."))
    async with editing(options={"model": model}) as editor:
        asked = editor.arguments(editor.open(TEXT), (0, 2))
        assert (await editor.command(EXPLAIN, asked))["text"] == "Two numbers."


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("\n```", "the model's answer is empty"),
        ("\na = 1\n# ... rest of the code unchanged ...\n```", "the model left code out"),
    ],
    ids=["an empty answer", "a placeholder"],
)
async def test_an_answer_that_is_no_edit_is_refused_and_changes_nothing(
    answering_model: AnsweringModel, answer: str, message: str
) -> None:
    async with editing(options={"model": str(answering_model(answer, after=PYTHON))}) as editor:
        with pytest.raises(JsonRpcException, match=message):
            await edited(editor, TEXT)
        assert editor.applied == []


async def test_an_answer_without_end_is_stopped_refused_and_changes_nothing(tmp_path: Path) -> None:
    table = {PYTHON: "\n", "\n": "round and round", "round and round": "\n"}
    model = write_scripted(tmp_path / "endless.gguf", table, [PYTHON, "round and round"])
    async with editing(options={"model": str(model)}) as editor:
        with pytest.raises(JsonRpcException, match="the model repeated itself without end"):
            await edited(editor, TEXT)
        assert editor.applied == []
