"""What a document's outbox gives away makes the daemon's copy equal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from copydraft.protocol import DocumentChanged, DocumentOpened
from copydraft_lsp.documents import Document
from copydraft_lsp.outbox import Outbox
from copydraft_lsp.places import Place

HERE = Place("/w", "a.py")

TEXTS = st.lists(
    st.sampled_from(["a", "bc", "\n", "\r\n", "\r", "😀", "μ", "e\u0301", "\ufeff"]), max_size=12
).map("".join)
PLACES = st.tuples(st.integers(0, 6), st.integers(0, 6))


def partial(
    start: tuple[int, int], end: tuple[int, int], text: str
) -> types.TextDocumentContentChangePartial:
    range_ = types.Range(types.Position(*start), types.Position(*end))
    return types.TextDocumentContentChangePartial(range_, text)


def opened(text: str) -> tuple[Document, Outbox, list[Outbox]]:
    woken: list[Outbox] = []
    document = Document("file:///w/a.py", "python", 1, text)
    return document, Outbox(document, woken.append), woken


def received(text: str, update: DocumentOpened | DocumentChanged | None) -> str:
    """The daemon's text after an update."""
    if isinstance(update, DocumentOpened):
        return update.text
    for change in update.changes if update else ():
        assert 0 <= change.start <= change.end <= len(text)
        text = text[: change.start] + change.text + text[change.end :]
    return text


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        ("\ufeffa\n", partial((0, 0), (0, 0), "x\n"), "x\n\ufeffa\n"),
        ("x\n\ufeffa\n", partial((0, 0), (1, 0), ""), "a\n"),
        ("\ufeffa\n", partial((0, 1), (0, 2), "x"), "x\n"),
    ],
    ids=["a line comes before it", "the line before it goes", "its line changes"],
)
def test_a_byte_order_mark_is_text_unless_it_is_first(
    text: str, change: types.TextDocumentContentChangePartial, expected: str
) -> None:
    document, outbox, _ = opened(text)
    there = received("", outbox.take(HERE))
    document.change(2, [change], "utf-16")
    assert received(there, outbox.take(HERE)) == expected


@given(
    TEXTS,
    st.lists(st.tuples(PLACES, PLACES, TEXTS, st.booleans()), max_size=8),
    st.sampled_from(["utf-8", "utf-16", "utf-32"]),
)
def test_any_changes_taken_at_any_time_make_the_same_text(
    text: str, edits: list[tuple[tuple[int, int], tuple[int, int], str, bool]], encoding: str
) -> None:
    document, outbox, _ = opened(text)
    there = received("", outbox.take(HERE))
    for version, (start, end, new, taken) in enumerate(edits, 2):
        document.change(version, [partial(start, end, new)], encoding)
        document.in_step = True
        if taken:
            there = received(there, outbox.take(HERE))
    there = received(there, outbox.take(HERE))
    assert there == document.text.removeprefix("\ufeff")
