"""Where documents belong."""

from __future__ import annotations

import pytest

from copydraft_lsp.documents import Document
from copydraft_lsp.places import Place, path_of, place_of, shown_path

FOLDERS = ["/w", "/w/my lib"]


def document(uri: str, language: str = "python") -> Document:
    return Document(uri, language, 1, "")


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("file:///w/src/a.py", Place("/w", "src/a.py")),
        ("file:///w/my%20lib/a.py", Place("/w/my lib", "a.py")),
        ("file:///w/my%20library/a.py", Place("/w", "my library/a.py")),
        ("file:///elsewhere/a.py", Place("/w", "/elsewhere/a.py")),
        ("untitled:Untitled-1", Place("/w", "untitled:Untitled-1.py")),
        ("untitled:a.py", Place("/w", "untitled:a.py")),
        (
            "vscode-notebook-cell:/w/n.ipynb#W0s",
            Place("/w", "vscode-notebook-cell:/w/n.ipynb#W0s.py"),
        ),
    ],
)
def test_a_document_belongs_to_its_innermost_folder_else_to_the_first(
    uri: str, place: Place
) -> None:
    assert place_of(document(uri), FOLDERS) == place


def test_without_a_folder_it_belongs_nowhere() -> None:
    assert place_of(document("file:///w/a.py"), []) is None


def test_the_root_of_the_file_system_can_be_a_folder() -> None:
    assert place_of(document("file:///w/a.py"), ["/"]) == Place("/", "w/a.py")


@pytest.mark.parametrize(
    ("uri", "language", "path"),
    [
        ("file:///w/my%20lib/src/a.py", "python", "src/a.py"),
        ("file:///elsewhere/a.py", "python", "a.py"),
        ("untitled:Untitled-1", "rust", "Untitled-1.rs"),
        ("untitled:", "lua", "untitled.lua"),
        ("vscode-notebook-cell:/w/n.ipynb#W0s", "python", "n.py"),
        ("untitled:notes.txt", "unheard of", "notes.txt"),
    ],
)
def test_the_model_is_told_a_path_that_says_the_language(
    uri: str, language: str, path: str
) -> None:
    assert shown_path(document(uri, language), FOLDERS) == path


@pytest.mark.parametrize("folder", ["file:///c%3A/w", "file:///C:/w"])
@pytest.mark.parametrize("uri", ["file:///c%3A/w/a.py", "file:///C:/w/a.py"])
def test_a_place_is_one_however_its_drive_is_spelled(folder: str, uri: str) -> None:
    folders = [path_of(folder), "/x"]
    assert place_of(document(uri), folders) == Place("/c:/w", "a.py")
    assert place_of(document(uri), ["/x"]) == Place("/x", "/c:/w/a.py")
    assert shown_path(document(uri), folders) == "a.py"
