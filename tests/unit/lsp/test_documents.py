"""Open documents under their editors' changes."""

from __future__ import annotations

import pytest
from lsprotocol import types

from copydraft_lsp.documents import Document, DocumentStore, LineChange

URI = "file:///a.py"


def opened(text: str, uri: str = URI, version: int = 1) -> types.TextDocumentItem:
    return types.TextDocumentItem(uri, "python", version, text)


def partial(
    start: tuple[int, int], end: tuple[int, int], text: str
) -> types.TextDocumentContentChangePartial:
    range_ = types.Range(types.Position(*start), types.Position(*end))
    return types.TextDocumentContentChangePartial(range_, text)


def whole(text: str) -> types.TextDocumentContentChangeWholeDocument:
    return types.TextDocumentContentChangeWholeDocument(text)


def named(version: int, uri: str = URI) -> types.VersionedTextDocumentIdentifier:
    return types.VersionedTextDocumentIdentifier(version, uri)


@pytest.fixture
def store() -> DocumentStore:
    return DocumentStore()


def document(text: str) -> tuple[Document, list[LineChange | None]]:
    """A document, and what its listener is told."""
    made, told = Document(URI, "python", 1, text), []  # type: ignore[var-annotated]
    made.listeners.add(told.append)
    return made, told


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        ("a\nb\n", partial((0, 1), (1, 0), ""), "ab\n"),
        ("a\nb\n", partial((2, 0), (2, 0), "c"), "a\nb\nc"),
        ("a\nb", partial((1, 1), (1, 1), "\n"), "a\nb\n"),
        ("a\nb\n", partial((0, 0), (2, 0), ""), ""),
        ("", partial((0, 0), (0, 0), "a\nb"), "a\nb"),
        ("a😀b\n", partial((0, 3), (0, 4), ""), "a😀\n"),
        ("a\r\nb", partial((0, 99), (0, 99), "x"), "ax\r\nb"),
        ("a\rb", partial((1, 0), (1, 0), "\n"), "a\r\nb"),
        ("a\n\nb", partial((0, 1), (0, 1), "\r"), "a\r\n\nb"),
        ("a\nb\n", partial((9, 9), (9, 9), "c"), "a\nb\nc"),
        ("a\nb\n", partial((1, 1), (0, 0), "c"), "c\n"),
    ],
)
def test_a_change_is_made_where_it_says_or_as_near_as_can_be(
    text: str, change: types.TextDocumentContentChangePartial, expected: str
) -> None:
    made, _ = document(text)
    made.change(2, [change], "utf-16")
    assert made.text == expected


def test_lines_of_a_carriage_return_and_a_newline_become_one() -> None:
    made, _ = document("a\rb\n")
    made.change(2, [partial((1, 0), (1, 1), "")], "utf-16")
    assert made.lines == ["a\r\n"]


def test_changes_of_one_message_follow_each_other() -> None:
    made, _ = document("")
    made.change(2, [partial((0, 0), (0, 0), "ab"), partial((0, 1), (0, 1), "\n")], "utf-16")
    assert made.lines == ["a\n", "b"]


def test_listeners_are_told_of_the_lines_that_changed_only() -> None:
    made, told = document("a\nb\nc\n")
    made.change(2, [partial((1, 0), (1, 0), "new\n"), partial((3, 0), (3, 1), "C")], "utf-16")
    assert told == [LineChange(1, [], ["new\n"]), LineChange(3, ["c\n"], ["C\n"])]


def test_a_whole_new_text_is_told_as_what_differs() -> None:
    made, told = document("a\nb\nc\nd\n")
    made.change(2, [whole("A\nb\nc\nx\nd\n")], "utf-16")
    assert told == [LineChange(0, ["a\n"], ["A\n"]), LineChange(3, [], ["x\n"])]


def test_one_document_has_many_spellings(store: DocumentStore) -> None:
    store.open(opened("x", "file:///c%3A/my%20dir/a.py"))
    for uri in ("file:///C:/my dir/a.py", "file:///C%3A/my%20dir/a.py", "file:///c:/my%20dir/a.py"):
        assert store.get(uri) is not None
    assert store.get("file:///C:/my dir/A.py") is None


def test_two_untitled_documents_are_two(store: DocumentStore) -> None:
    store.open(opened("one", "untitled:Untitled-1"))
    store.open(opened("two", "untitled:Untitled-2"))
    assert len(store) == 2


def test_two_buffers_under_one_empty_name_are_told_apart_from_one(store: DocumentStore) -> None:
    assert not store.open(opened("one", "file://")).ambiguous
    assert store.open(opened("two", "file://")).ambiguous


def test_a_name_that_two_buffers_had_stays_ambiguous_when_one_is_closed() -> None:
    store = DocumentStore()
    store.open(opened("one", "file://"))
    store.open(opened("two", "file://"))
    store.close("file://")
    assert store.open(opened("three", "file://")).ambiguous


@pytest.mark.parametrize(
    ("version", "change"),
    [(0, partial((0, 0), (0, 0), "x")), (2, partial((9, 0), (9, 0), "x"))],
    ids=["an older version", "a line far behind the end"],
)
def test_what_cannot_be_right_puts_a_document_out_of_step_once(
    store: DocumentStore, version: int, change: types.TextDocumentContentChangePartial
) -> None:
    made = store.open(opened("a\n"))
    assert not store.change(named(version), [change])
    assert not made.in_step
    assert store.change(named(version), [change])


def test_a_change_of_a_document_that_is_not_open_is_a_disagreement_once(
    store: DocumentStore,
) -> None:
    change = partial((0, 0), (0, 0), "x")
    assert [store.change(named(version), [change]) for version in (2, 3)] == [False, True]
    store.close(store.open(opened("a")).uri)
    assert not store.change(named(4), [change])


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        ("a\rb\nc\n", partial((1, 0), (1, 1), "C"), "a\rb\nC\n"),
        ("a\rb\n", partial((0, 1), (0, 2), ""), "ab\n"),
        ("a\r\nb\n", partial((0, 1), (0, 2), ""), "a\nb\n"),
        ("a\r\nb\r\n", partial((2, 0), (2, 0), "c\rd\r\n"), "a\r\nb\r\nc\rd\r\n"),
        ("a\rb\r", partial((1, 0), (1, 1), "B\nC"), "a\rB\nC\r"),
    ],
    ids=["in a unix buffer", "deleted", "before the end", "in a dos buffer", "in a mac buffer"],
)
def test_neovim_takes_a_return_that_ends_no_line_of_its_buffer_for_a_character(
    store: DocumentStore,
    text: str,
    change: types.TextDocumentContentChangePartial,
    expected: str,
) -> None:
    store.single_ends = True
    made = store.open(opened(text))
    made.change(2, [change], "utf-8")
    assert made.text == expected


def test_the_lines_of_the_last_message_are_told(store: DocumentStore) -> None:
    made = store.open(opened("a\nb\nc\n"))
    told = [made.changed_lines]
    made.change(2, [partial((2, 1), (2, 1), "x"), partial((1, 1), (1, 1), "x")], "utf-16")
    told.append(made.changed_lines)
    made.change(3, [partial((0, 1), (0, 1), "\n")], "utf-16")
    told.append(made.changed_lines)
    assert told == [None, (1, 3), (1, 2)]


def test_a_whole_text_puts_it_in_step_again(store: DocumentStore) -> None:
    made = store.open(opened("a\n"))
    store.change(named(2), [partial((9, 0), (9, 0), "x")])
    store.change(named(3), [whole("b\n")])
    assert made.in_step
    assert made.text == "b\n"


def test_a_closed_document_is_forgotten_and_its_listeners_know(store: DocumentStore) -> None:
    told: list[LineChange | None] = []
    store.open(opened("a")).listeners.add(told.append)
    store.close(URI)
    store.close(URI)
    assert store.get(URI) is None
    assert told == [None]


def test_opening_it_again_replaces_it(store: DocumentStore) -> None:
    told: list[LineChange | None] = []
    store.open(opened("a")).listeners.add(told.append)
    assert store.open(opened("b", version=7)).version == 7
    assert told == [None]
