"""Open documents as their editors have them: changes in order, owners, what is never kept."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.protocol import (
    DocumentChanged,
    DocumentClosed,
    DocumentOpened,
    DocumentUpdate,
    DocumentUpdates,
    TextChange,
)
from copydraft.workspace import open_documents
from copydraft.workspace.open_documents import OpenDocuments

ME = 1
"""Process 1 lives for as long as the tests do."""


class Taken:
    def __init__(self) -> None:
        self.changed: list[tuple[str, str]] = []
        self.documents = OpenDocuments(
            lambda workspace, name: self.changed.append((workspace, name))
        )

    def take(self, *updates: DocumentUpdate, workspace: str = "/w", owner: int = ME) -> list[str]:
        return self.documents.take(
            DocumentUpdates(workspace=workspace, owner=owner, updates=list(updates))
        )

    def texts(self, workspace: str = "/w") -> dict[str, str | None]:
        return {name: each.text for name, each in self.documents.of(workspace).items()}


@pytest.fixture
def taken() -> Taken:
    return Taken()


def opened(name: str, text: str, version: int = 1) -> DocumentOpened:
    return DocumentOpened(name=name, version=version, text=text)


def changed(name: str, version: int, *changes: tuple[int, int, str]) -> DocumentChanged:
    made = [TextChange(start=start, end=end, text=text) for start, end, text in changes]
    return DocumentChanged(name=name, version=version, changes=made)


def test_each_change_is_made_in_the_text_that_the_one_before_left(taken: Taken) -> None:
    assert taken.take(opened("a.py", "😀 one")) == []
    assert taken.take(changed("a.py", 2, (1, 5, ""), (0, 1, "two"))) == []
    assert taken.texts() == {"a.py": "two"}
    assert taken.changed == [("/w", "a.py"), ("/w", "a.py")]


@given(st.text(), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.text())))
def test_any_changes_inside_the_text_give_the_editors_text(
    text: str, splices: list[tuple[int, int, str]]
) -> None:
    taken = Taken()
    taken.take(opened("a.py", text))
    for version, (place, length, new) in enumerate(splices, start=2):
        start, end = min(place, len(text)), min(place + length, len(text))
        text = text[:start] + new + text[end:]
        assert taken.take(changed("a.py", version, (start, end, new))) == []
    assert taken.texts() == {"a.py": text}


@pytest.mark.parametrize(
    "update",
    [
        changed("b.py", 2, (0, 0, "x")),
        changed("a.py", 1, (0, 0, "x")),
        changed("a.py", 2, (0, 0, "y"), (4, 5, "x")),
        changed("a.py", 2, (2, 1, "x")),
        changed("a.py", 2, (-1, 1, "x")),
    ],
)
def test_of_a_document_whose_change_does_not_fit_all_text_is_asked_for(
    taken: Taken, update: DocumentChanged
) -> None:
    taken.take(opened("a.py", "one"))
    assert taken.take(update) == [update.name]
    assert taken.texts() == {"a.py": "one"}
    assert taken.take(opened(update.name, "two", 3)) == []
    assert taken.texts()[update.name] == "two"


def test_a_document_sent_anew_in_the_same_batch_is_not_asked_for(taken: Taken) -> None:
    assert taken.take(changed("a.py", 2, (0, 0, "x")), opened("a.py", "one", 3)) == []


def test_documents_of_one_workspace_are_none_of_another(taken: Taken) -> None:
    taken.take(opened("a.py", "one"), workspace="/here")
    assert taken.texts("/there") == {}
    assert taken.take(changed("a.py", 2, (0, 0, "x")), workspace="/there") == ["a.py"]
    assert taken.documents.workspaces() == ["/here"]


def test_a_closed_document_is_gone_and_its_workspace_with_the_last(taken: Taken) -> None:
    taken.take(opened("a.py", "one"))
    assert taken.take(DocumentClosed(name="a.py"), DocumentClosed(name="a.py")) == []
    assert taken.documents.workspaces() == []


def test_a_document_is_the_editors_that_opened_it_last(taken: Taken) -> None:
    other = 2
    taken.take(opened("a.py", "one"))
    taken.take(opened("a.py", "uno"), owner=other)
    assert taken.take(DocumentClosed(name="a.py")) == []
    assert taken.texts() == {"a.py": "uno"}
    assert taken.take(changed("a.py", 2, (0, 0, "x"))) == ["a.py"]


def test_documents_of_an_editor_that_was_killed_are_closed(taken: Taken) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as editor:
        taken.take(opened("a.py", "one"), owner=editor.pid)
        taken.take(opened("b.py", "two"))
        taken.documents.close_left()
        assert set(taken.texts()) == {"a.py", "b.py"}
        editor.kill()
    taken.changed.clear()
    taken.documents.close_left()
    assert set(taken.texts()) == {"b.py"}
    assert taken.changed == [("/w", "a.py")]


def test_nothing_of_secrets_or_of_huge_documents_is_kept(
    taken: Taken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_documents, "LARGEST_CHARACTERS", 5)
    taken.take(opened("conf/.env", "KEY=1"), opened("large.py", "123456"), opened("a.py", "12345"))
    assert taken.texts() == {"conf/.env": None, "large.py": None, "a.py": "12345"}
    assert taken.take(changed("conf/.env", 2, (0, 0, "x")), changed("a.py", 2, (0, 0, "0"))) == []
    assert taken.texts() == {"conf/.env": None, "large.py": None, "a.py": None}


def test_nothing_of_a_document_with_a_private_key_is_kept(taken: Taken) -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl"
    taken.take(opened("deploy_key", key), opened("a.py", "one"))
    assert taken.take(changed("a.py", 2, (3, 3, f"\n{key}"))) == []
    assert taken.texts() == {"deploy_key": None, "a.py": None}


@pytest.mark.parametrize("owner", [0, -1])
def test_an_owner_that_is_no_process_is_refused(owner: int) -> None:
    """To the system, 0 and -1 are groups of processes, which always live."""
    updates = DocumentUpdates(workspace="/w", owner=owner, updates=[])
    with pytest.raises(msgspec.ValidationError, match="owner"):
        msgspec.json.decode(msgspec.json.encode(updates), type=DocumentUpdates)
