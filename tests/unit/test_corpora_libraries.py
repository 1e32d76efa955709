"""What workspaces draft from beside their own text: libraries, and directories that were added."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from copydraft.index import additions
from copydraft.index.shards import CorpusKey
from copydraft.index.tokenizing import PLAIN
from copydraft.index.worker import Job, run
from tests.fixtures.corpora import WORDS, Make, corpora_in, found, opened, until, write
from tests.fixtures.word_numbers import WordNumbers


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Call it for corpora in the test's one database."""
    with corpora_in(tmp_path) as make:
        yield make


def test_libraries_of_the_workspace_and_of_the_user_are_the_global_corpus(
    make: Make, tmp_path: Path
) -> None:
    root = write(tmp_path / "w", a="one two three")
    write(root / "node_modules" / "pkg")
    (root / "node_modules" / "pkg" / "index.d.ts").write_text("four five six")
    (root / "node_modules" / "pkg" / "index.js").write_text("seven eight nine")
    added = write(tmp_path / "added", b="ten eleven twelve")
    (tmp_path / "list").write_text(f"{added}\n")
    workspace = opened(make(additions_file=tmp_path / "list"), root)
    declarations = f"{root}/node_modules/pkg/index.d.ts"
    assert found(workspace, "four five") == {("global", declarations)}
    assert found(workspace, "seven eight") == set()
    assert found(workspace, "ten eleven") == {("global", f"{added}/b.txt")}


def install(root: Path, package: str, text: str) -> str:
    """A package of node's below a workspace; the path of its declarations."""
    path = root / "node_modules" / package / "index.d.ts"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return str(path)


def test_libraries_that_are_installed_while_a_workspace_is_open_are_taken_in(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydraft.index.corpora._LOOK_AGAIN_S", 0.0)
    corpora = make()
    root = write(tmp_path / "w", a="one two three")
    workspace = opened(corpora, root)

    def has(words: str, path: str) -> bool:
        indexed = found(workspace, words) == {("global", path)}  # asking looks again
        assert corpora.settle(60)
        return indexed

    path = install(root, "pkg", "four five six")
    until(lambda: has("four five", path))
    path = install(root, "another", "seven eight nine")
    until(lambda: has("seven eight", path))
    path = install(root, "@scope/deeper", "ten eleven twelve")
    until(lambda: has("ten eleven", path))
    path = install(root, "@scope/second", "red green blue")
    until(lambda: has("red green", path))
    shutil.rmtree(root / "node_modules")
    until(lambda: not found(workspace, "four five"))


def test_a_workspace_is_not_searched_for_libraries_at_every_look_up(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpora = make()
    root = write(tmp_path / "w", a="one two three")
    workspace = opened(corpora, root)
    looked: list[Path] = []
    monkeypatch.setattr("copydraft.index.corpora.libraries_of", looked.append)
    for _ in range(3):
        workspace.search()
    assert corpora.settle(60)
    assert looked == []


def test_a_directory_that_is_added_for_all_workspaces_is_taken_in_while_they_are_open(
    make: Make, tmp_path: Path
) -> None:
    file = tmp_path / "directories"
    workspace = opened(make(additions_file=file), write(tmp_path / "w", a="one two three"))
    library = write(tmp_path / "library", b="four five six")
    additions.add(file, library)  # as the command line does it: kept first, then indexed
    key = CorpusKey("global", str(library), PLAIN.name, WORDS.fingerprint)
    run(Job(tmp_path / "cache" / "index.db", key, PLAIN, WordNumbers, library=True), WORDS)
    until(lambda: {corpus for corpus, _ in found(workspace, "four five")} == {"global"})


def test_a_library_that_is_installed_as_a_directory_is_added_is_not_forgotten(
    make: Make, tmp_path: Path
) -> None:
    file = tmp_path / "directories"
    root = write(tmp_path / "w", a="one two three")
    corpora = make(additions_file=file)
    workspace = opened(corpora, root)
    path = install(root, "pkg", "four five six")
    additions.add(file, write(tmp_path / "library", b="seven eight nine"))
    corpora.refresh()
    until(lambda: found(workspace, "four five") == {("global", path)})
