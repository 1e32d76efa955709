"""Regions followed while their document changes."""

from __future__ import annotations

import random

import pytest
from lsprotocol import types

import fuzz_lsp
from copydraft.errors import FileChanged
from copydraft.textedits import split_lines
from copydraft_lsp.documents import Document
from copydraft_lsp.regions import TrackedRegion

TEXT = "a\nb\nc\nd\n"


def change(document: Document, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
    range_ = types.Range(types.Position(*start), types.Position(*end))
    event = types.TextDocumentContentChangePartial(range_, text)
    document.change(document.version + 1, [event], "utf-16")


def applied(document: Document, edits: list[types.TextEdit]) -> str:
    for edit in reversed(edits):
        span = edit.range
        change(document, (span.start.line, span.start.character),
               (span.end.line, span.end.character), edit.new_text)  # fmt: skip
    return document.text


@pytest.mark.parametrize(
    ("start", "end", "text", "expected"),
    [
        ((0, 0), (0, 0), "new\n", (2, 4)),
        ((1, 0), (1, 0), "new\n", (2, 4)),
        ((0, 0), (1, 0), "", (0, 2)),
        ((0, 0), (0, 1), "x", (1, 3)),
        ((3, 0), (3, 0), "new\n", (1, 3)),
        ((3, 0), (4, 0), "", (1, 3)),
    ],
)
def test_changes_outside_move_a_region_or_leave_it(
    start: tuple[int, int], end: tuple[int, int], text: str, expected: tuple[int, int]
) -> None:
    document = Document("file:///a", "", 1, TEXT)
    with TrackedRegion(document, 1, 3) as region:
        change(document, start, end, text)
        assert (region.start, region.end) == expected
        assert document.lines[region.start : region.end] == ["b\n", "c\n"]
        assert region.lost is None


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        ((1, 0), (1, 0), "x"),
        ((2, 0), (2, 0), "new\n"),
        ((0, 1), (1, 0), ""),
        ((2, 1), (3, 0), ""),
        ((0, 0), (4, 0), ""),
    ],
    ids=["typed before it", "a line inside", "joined above", "joined below", "all deleted"],
)
def test_changes_inside_lose_it(start: tuple[int, int], end: tuple[int, int], text: str) -> None:
    document = Document("file:///a", "", 1, TEXT)
    told: list[FileChanged] = []
    with TrackedRegion(document, 1, 3) as region:
        region.on_loss = told.append
        change(document, start, end, text)
        assert told == [region.lost]
        with pytest.raises(FileChanged, match="the selected lines were changed while"):
            region.edits("x\n", "utf-16")


def test_a_closed_document_loses_it() -> None:
    document = Document("file:///a", "", 1, TEXT)
    with TrackedRegion(document, 1, 3) as region:
        document.forget()
        with pytest.raises(FileChanged, match="the document was closed or renamed while"):
            region.edits("x\n", "utf-16")


def test_a_formatters_whole_new_text_outside_moves_it() -> None:
    document = Document("file:///a", "", 1, TEXT)
    with TrackedRegion(document, 1, 3) as region:
        document.replace("import x\n\na\nb\nc\nD\n")
        assert applied(document, region.edits("B\nc\n", "utf-16")) == "import x\n\na\nB\nc\nD\n"


def test_edits_are_minimal_and_in_the_units_asked_for() -> None:
    document = Document("file:///a", "", 1, "a\n  😀 = 1\nc\n")
    with TrackedRegion(document, 1, 2) as region:
        edits = {name: region.edits("  😀 = 2\n", name) for name in ("utf-8", "utf-16", "utf-32")}
    found = {
        name: [
            (edit.range.start.character, edit.range.end.character, edit.new_text) for edit in made
        ]
        for name, made in edits.items()
    }
    assert found == {"utf-8": [(9, 10, "2")], "utf-16": [(7, 8, "2")], "utf-32": [(6, 7, "2")]}


def test_the_same_text_is_no_edit() -> None:
    document = Document("file:///a", "", 1, TEXT)
    with TrackedRegion(document, 1, 3) as region:
        assert region.edits("b\nc\n", "utf-16") == []


@pytest.mark.parametrize("text", ["\ufeffa\r\nb", "\ufeffa\r\nb\r\n"])
def test_byte_order_mark_line_ends_and_the_end_of_file_stay(text: str) -> None:
    document = Document("file:///a", "", 1, text)
    with TrackedRegion(document, 0, 2) as region:
        new = text.removeprefix("\ufeff").replace("b", "B")
        assert applied(document, region.edits(new, "utf-16")) == text.replace("b", "B")


def test_a_byte_order_mark_that_does_not_begin_the_document_is_text() -> None:
    document = Document("file:///a", "", 1, "a\n\ufeffb\n")
    with TrackedRegion(document, 1, 2) as region:
        assert applied(document, region.edits("\ufeffB\n", "utf-16")) == "a\n\ufeffB\n"


def test_a_byte_order_mark_stays_where_lines_came_before_it() -> None:
    document = Document("file:///a", "", 1, "\ufeffa\n")
    with TrackedRegion(document, 0, 1) as region:
        change(document, (0, 0), (0, 0), "x\n")
        assert applied(document, region.edits("b\n", "utf-16")) == "x\n\ufeffb\n"


def test_a_region_that_is_not_lost_is_where_it_says() -> None:
    kept = 0
    for seed in range(300):
        random_ = random.Random(seed)
        client = fuzz_lsp.Client(fuzz_lsp.text(random_, 60), "utf-16", random_)
        document = Document("file:///a", "", 0, client.text)
        count = len(split_lines(client.text))
        if count < 3:
            continue
        start = random_.randrange(count - 1)
        end = random_.randrange(start + 1, min(count, start + 3))
        with TrackedRegion(document, start, end) as region:
            for _ in range(3):
                made = client.edit()
                if "range" not in made:
                    document.replace(made["text"])
                    continue
                first, last = made["range"]["start"], made["range"]["end"]
                ends = (first["line"], first["character"]), (last["line"], last["character"])
                change(document, *ends, made["text"])
            if region.lost is None:
                kept += 1
                assert "".join(document.lines[region.start : region.end]) == region.text
    assert kept > 20
