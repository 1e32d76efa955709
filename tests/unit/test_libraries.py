"""The libraries of a workspace are found without running anything of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from copydraft.errors import DiskProblem
from copydraft.index import additions
from copydraft.workspace.libraries import Library, libraries_of


def environment(path: Path, base: Path, version: str = "3.12.4") -> Path:
    packages = path / "lib" / "python3.12" / "site-packages"
    packages.mkdir(parents=True)
    (path / "pyvenv.cfg").write_text(
        f"home = {base}/bin\ninclude-system-site-packages = false\nversion = {version}\n"
    )
    return packages


def interpreter(base: Path) -> Path:
    library = base / "lib" / "python3.12"
    library.mkdir(parents=True)
    (library / "os.py").write_text("")
    return library


def test_an_environment_brings_its_packages_and_its_standard_library(tmp_path: Path) -> None:
    library = interpreter(tmp_path / "base")
    packages = environment(tmp_path / "w" / ".venv", tmp_path / "base")
    assert libraries_of(tmp_path / "w") == [
        Library(packages, (".py", ".pyi")),
        Library(library, (".py", ".pyi")),
    ]


def test_a_directory_that_may_not_be_looked_into_hides_no_environment(
    tmp_path: Path, shut: Callable[[str], None]
) -> None:
    packages = environment(tmp_path / "w" / ".venv", tmp_path / "base")
    (tmp_path / "w" / "closed").mkdir()
    shut("closed")
    assert libraries_of(tmp_path / "w") == [Library(packages, (".py", ".pyi"))]


def test_packages_that_are_a_link_out_of_the_environment_are_no_library(tmp_path: Path) -> None:
    packages = environment(tmp_path / "w" / ".venv", tmp_path / "base")
    private = tmp_path / "another project"
    private.mkdir()
    packages.rmdir()
    packages.symlink_to(private)
    assert libraries_of(tmp_path / "w") == []
    packages.unlink()
    (packages.parents[1] / "real").mkdir()
    packages.symlink_to(packages.parents[1] / "real")
    assert [found.root.name for found in libraries_of(tmp_path / "w")] == ["real"]


def test_two_environments_of_one_interpreter_share_its_library(tmp_path: Path) -> None:
    library = interpreter(tmp_path / "base")
    one = environment(tmp_path / "w" / "env", tmp_path / "base")
    other = environment(tmp_path / "w" / "sub" / ".venv", tmp_path / "base")
    assert {found.root for found in libraries_of(tmp_path / "w")} == {one, other, library}


def test_an_interpreter_that_is_gone_or_not_told_leaves_the_packages(tmp_path: Path) -> None:
    packages = environment(tmp_path / "w" / ".venv", tmp_path / "gone")
    (tmp_path / "w" / "bad").mkdir()
    (tmp_path / "w" / "bad" / "pyvenv.cfg").write_bytes(b"\xff")
    assert [found.root for found in libraries_of(tmp_path / "w")] == [packages]


def test_node_packages_bring_their_declarations(tmp_path: Path) -> None:
    (tmp_path / "web" / "node_modules" / "a" / "node_modules").mkdir(parents=True)
    assert libraries_of(tmp_path) == [
        Library(tmp_path / "web" / "node_modules", (".d.ts", ".d.mts", ".d.cts"))
    ]


def test_links_are_not_followed_and_a_workspace_that_is_gone_has_none(tmp_path: Path) -> None:
    environment(tmp_path / "elsewhere", tmp_path / "base")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".venv").symlink_to(tmp_path / "elsewhere")
    assert libraries_of(tmp_path / "w") == []
    assert libraries_of(tmp_path / "gone") == []


def test_directories_of_the_user_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "state" / "list.txt"
    assert additions.listed(file) == []
    additions.add(file, Path("/one"))
    additions.add(file, Path("/two words"))
    additions.add(file, Path("/one"))
    assert additions.listed(file) == [Library(Path("/one"), ()), Library(Path("/two words"), ())]


def test_a_list_that_cannot_be_read_or_written_is_a_disk_problem(tmp_path: Path) -> None:
    (tmp_path / "list").mkdir()
    with pytest.raises(DiskProblem, match="cannot read"):
        additions.listed(tmp_path / "list")
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskProblem, match=r"cannot (make|read)"):
        additions.add(tmp_path / "file" / "list", Path("/one"))
