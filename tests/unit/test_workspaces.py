"""What is drafted from beside the session: open documents and files, of one workspace each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from copydraft.errors import BadRequest
from copydraft.index.corpora import Corpora
from copydraft.protocol import DocumentClosed, DocumentOpened, DocumentUpdate, DocumentUpdates
from copydraft.serving.workspaces import Workspaces
from copydraft.workspace.edits import RecentEdits
from tests.fixtures.word_numbers import WordNumbers

WORDS = WordNumbers()
REPOSITORY = Path(__file__).parents[2]
MODEL = Path("/models/m.gguf")


@pytest.fixture
def workspaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspaces]:
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))  # the child unpickles what is in the tests

    def corpora(model: Path, _: bool, edits: Callable[[Path], RecentEdits]) -> Corpora:
        assert model == MODEL
        return Corpora(
            tmp_path / "index.db", WordNumbers, libraries=False, watch=False, edits=edits
        )

    made = Workspaces(corpora)
    yield made
    made.close()


@pytest.fixture
def root(tmp_path: Path) -> str:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one two three")
    return str(project)


def take(workspaces: Workspaces, root: str, *updates: DocumentUpdate) -> None:
    assert (
        workspaces.take(DocumentUpdates(workspace=root, owner=os.getpid(), updates=[*updates]))
        == []
    )
    assert workspaces.settle(30)


def opened(name: str, text: str, version: int = 1) -> DocumentOpened:
    return DocumentOpened(name=name, version=version, text=text)


def found(workspaces: Workspaces, root: str, words: str) -> set[tuple[str, str]]:
    search = workspaces.search(root)
    assert search is not None
    tail = WORDS.encode_one(words)
    matches = search.longest_matches(tail, 100)
    return {(m.document.corpus, m.document.path) for m in matches if m.length == len(tail)}


def test_files_and_open_documents_are_drafted_from(workspaces: Workspaces, root: str) -> None:
    workspaces.load(MODEL)
    workspaces.search(root)
    take(workspaces, root, opened("b.txt", "four five six"))
    assert found(workspaces, root, "one two") == {("workspace", "a.txt")}
    assert found(workspaces, root, "four five") == {("buffer", "b.txt")}
    [status] = workspaces.status()
    assert (status.root, status.open_documents, status.workspace_tokens) == (root, 1, 3)
    assert not status.indexing


def test_documents_opened_without_a_model_are_there_when_one_is_loaded(
    workspaces: Workspaces, root: str
) -> None:
    take(workspaces, root, opened("b.txt", "four five six"))
    assert workspaces.search(root) is None
    [status] = workspaces.status()
    assert (status.open_documents, status.workspace_tokens) == (1, 0)
    workspaces.load(MODEL)
    assert workspaces.settle(30)
    assert found(workspaces, root, "four five") == {("buffer", "b.txt")}
    workspaces.unload()
    assert workspaces.search(root) is None
    workspaces.load(MODEL)
    assert workspaces.settle(30)
    assert found(workspaces, root, "four five") == {("buffer", "b.txt")}


def test_a_closed_document_gives_way_to_its_file(workspaces: Workspaces, root: str) -> None:
    workspaces.load(MODEL)
    take(workspaces, root, opened("a.txt", "one zwei"))
    take(workspaces, root, DocumentClosed(name="a.txt"))
    assert found(workspaces, root, "one two") == {("workspace", "a.txt")}


def test_an_answer_in_another_printing_than_is_indexed_finds_nothing(
    workspaces: Workspaces, root: str
) -> None:
    workspaces.load(MODEL)
    take(workspaces, root, opened("b.txt", "four five six"))
    search = workspaces.search(root, "tool-call")
    assert search is not None
    assert search.longest_matches(WORDS.encode_one("four five"), 8) == []


def test_calls_between_tags_are_drafted_from_text_as_it_is(
    workspaces: Workspaces, root: str
) -> None:
    workspaces.load(MODEL, escaped=False)
    take(workspaces, root, opened("b.txt", "four five six"))
    search = workspaces.search(root, "tool-call")
    assert search is not None
    [match, *_] = search.longest_matches(WORDS.encode_one("four five"), 8)
    assert (match.document.path, match.length) == ("b.txt", 2)


def test_edits_are_told_with_and_without_a_model(workspaces: Workspaces, root: str) -> None:
    take(workspaces, root, opened("b.txt", "four\nfive\n"))
    assert workspaces.recent_edits(root) == []
    take(workspaces, root, opened("b.txt", "four\n5\n", 2))
    [edit] = workspaces.recent_edits(root)
    assert (edit.path, edit.line, edit.old, edit.new) == ("b.txt", 1, "five\n", "5\n")
    workspaces.load(MODEL)
    assert workspaces.settle(30)
    take(workspaces, root, opened("b.txt", "four\n5\nsix\n", 3))
    assert [edit.new for edit in workspaces.recent_edits(root)] == ["six\n", "5\n"]


def test_homes_and_what_is_no_directory_are_never_indexed(
    workspaces: Workspaces, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspaces.load(MODEL)
    monkeypatch.setenv("HOME", root)
    for none in ("", "/", "relative", root, str(Path(root).parent), f"{root}/a.txt", f"{root}/no"):
        assert workspaces.search(none) is None
        assert workspaces.recent_edits(none) == ()
    assert workspaces.status() == []


@pytest.mark.parametrize("root", ["project", "", "/pro\0ject"])
def test_a_workspace_without_an_absolute_path_is_refused(workspaces: Workspaces, root: str) -> None:
    with pytest.raises(BadRequest):
        workspaces.take(DocumentUpdates(workspace=root, owner=1, updates=[]))


@pytest.mark.parametrize("root", ["/pro\0ject", "/" + "a" * 300, "/pro\ud800ject"])
def test_a_path_that_no_directory_can_have_is_no_project(workspaces: Workspaces, root: str) -> None:
    workspaces.load(MODEL)
    assert workspaces.search(root) is None
    assert workspaces.recent_edits(root) == ()


def test_a_root_that_cannot_be_looked_at_is_known_and_not_indexed(
    workspaces: Workspaces, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspaces.load(MODEL)

    def refuse(path: Path) -> bool:
        raise PermissionError(f"no right to {path}")

    monkeypatch.setattr(Path, "is_dir", refuse)
    take(workspaces, root, opened("b.txt", "four five six"))
    assert workspaces.search(root) is None
    assert workspaces.recent_edits(root) == ()
    [status] = workspaces.status()
    assert (status.root, status.open_documents, status.workspace_tokens) == (root, 1, 0)


def test_what_is_inside_a_directory_of_secrets_is_no_project(
    workspaces: Workspaces, tmp_path: Path
) -> None:
    workspaces.load(MODEL)
    for inside in (".kube", ".ssh/hosts"):
        (tmp_path / inside).mkdir(parents=True)
        assert workspaces.search(str(tmp_path / inside)) is None


def test_an_open_file_that_git_ignores_is_not_drafted_from_and_its_edits_are_not_told(
    workspaces: Workspaces, root: str
) -> None:
    (Path(root) / ".gitignore").write_text("local*\nbuild/\n")
    workspaces.load(MODEL)
    for name in ("local.txt", "build/b.txt"):
        take(workspaces, root, opened(name, "four five six"))
        take(workspaces, root, opened(name, "four five seven", 2))
    assert found(workspaces, root, "four five") == set()
    assert workspaces.recent_edits(root) == []


@pytest.mark.parametrize("name", ["new.txt", "new/b.txt", "empty.txt", "untitled:1", "/else/b.txt"])
def test_an_open_document_that_is_no_file_yet_or_lies_elsewhere_is_drafted_from(
    workspaces: Workspaces, root: str, name: str
) -> None:
    (Path(root) / ".gitignore").write_text("local*\n")
    (Path(root) / "empty.txt").touch()
    workspaces.load(MODEL)
    take(workspaces, root, opened(name, "four five six"))
    assert found(workspaces, root, "four five") == {("buffer", name)}


def test_whether_an_open_file_is_ignored_is_asked_anew_when_it_is_opened_again(
    workspaces: Workspaces, root: str
) -> None:
    rules = Path(root) / ".gitignore"
    rules.write_text("b.txt\n")
    workspaces.load(MODEL)
    take(workspaces, root, opened("b.txt", "four five six"))
    rules.unlink()
    take(workspaces, root, DocumentClosed(name="b.txt"))
    take(workspaces, root, opened("b.txt", "four five six"))
    assert found(workspaces, root, "four five") == {("buffer", "b.txt")}


def test_documents_of_an_editor_that_was_killed_are_not_in_the_status(
    workspaces: Workspaces, root: str
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as editor:
        document = opened("b.txt", "four five six")
        workspaces.take(DocumentUpdates(workspace=root, owner=editor.pid, updates=[document]))
        assert [status.open_documents for status in workspaces.status()] == [1]
        editor.kill()
    assert workspaces.status() == []


def test_the_indexes_of_only_so_many_workspaces_are_kept(
    workspaces: Workspaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydraft.serving.workspaces._MOST_WORKSPACES", 2)
    workspaces.load(MODEL)
    roots = [tmp_path / name for name in ("one", "two", "three")]
    for each in roots:
        each.mkdir()
        workspaces.search(str(each))
    assert [status.root for status in workspaces.status()] == [str(roots[2]), str(roots[1])]


def test_a_workspace_that_was_let_go_has_its_open_documents_again(
    workspaces: Workspaces, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydraft.serving.workspaces._MOST_WORKSPACES", 1)
    workspaces.load(MODEL)
    for name in ("b.txt", "c.txt"):
        take(workspaces, root, opened(name, "four five six"))
    other = tmp_path / "other"
    other.mkdir()
    workspaces.search(str(other))
    workspaces.search(root)
    assert workspaces.settle(30)
    both = {("buffer", "b.txt"), ("buffer", "c.txt")}
    assert found(workspaces, root, "four five") == both
    workspaces.search(str(other))
    # By a change of one document, too.
    take(workspaces, root, opened("b.txt", "four five seven", 2))
    assert found(workspaces, root, "four five") == both


def test_a_document_that_comes_while_the_indexes_are_let_go_is_no_fault(
    workspaces: Workspaces,
    root: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    workspaces.load(MODEL)

    def closed(self: Corpora, root: Path) -> None:
        raise RuntimeError("cannot schedule new futures after shutdown")

    monkeypatch.setattr(Corpora, "workspace", closed)
    take(workspaces, root, opened("b.txt", "four five six"))
    assert [record.message for record in caplog.records if record.levelname != "DEBUG"] == []
