"""`copydraft index` shows, fills and clears the index."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from copydraft import paths, terminal_indexing
from copydraft.errors import BadRequest, Cancelled, DiskProblem, ModelProblem
from copydraft.index import shards
from copydraft.index.cache import IndexCache
from copydraft.index.shards import CorpusKey
from copydraft.index_cli import index_group


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "a.py").write_text("def a():\n    return 1\n")
    (root / ".env").write_text("secret")
    return root


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(index_group, [str(each) for each in arguments])


def told(*arguments: str | Path) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def test_an_empty_index_says_so_and_is_not_made(isolated_home: Path) -> None:
    assert told("status") == {
        "path": str(paths.index_database()),
        "bytes": 0,
        "corpora": [],
        "directories": [],
    }
    assert "nothing is indexed yet" in run("status").stdout
    assert not paths.index_database().exists()


def test_a_workspace_is_added_and_shown(workspace: Path, dense_model: Path) -> None:
    [added] = told("add", workspace, "--model", dense_model)["indexed"]
    assert (added["root"], added["kind"], added["added"]) == (str(workspace), "workspace", 1)
    [corpus] = told("status")["corpora"]
    assert (corpus["kind"], corpus["root"], corpus["documents"]) == ("workspace", str(workspace), 1)
    assert corpus["tokens"] == added["tokens"] > 0
    shown = run("status").stdout
    assert str(workspace) in shown


def test_adding_again_indexes_what_changed(workspace: Path, dense_model: Path) -> None:
    told("add", workspace, "--model", dense_model)
    (workspace / "b.py").write_text("x = 1\n")
    result = run("add", workspace, "--model", dense_model)
    assert f"{workspace}: 1 files indexed, 0 forgotten" in result.stdout


def test_libraries_of_a_workspace_are_added_with_it(workspace: Path, dense_model: Path) -> None:
    package = workspace / "node_modules" / "a"
    package.mkdir(parents=True)
    (package / "index.d.ts").write_text("declare function a(): void;\n")
    indexed = told("add", workspace, "--model", dense_model)["indexed"]
    assert [(each["kind"], each["added"]) for each in indexed] == [("workspace", 1), ("global", 1)]


def test_a_global_directory_is_indexed_and_kept(
    workspace: Path, tmp_path: Path, dense_model: Path
) -> None:
    [added] = told("global", "add", workspace, "--model", dense_model)["indexed"]
    assert added["kind"] == "global"
    assert told("status")["directories"] == [str(workspace)]
    told("clear")
    assert told("status")["directories"] == [str(workspace)]
    assert f"{workspace} is global and waits to be indexed" in run("status").stdout
    other = tmp_path / "other"
    other.mkdir()
    indexed = told("add", other, "--model", dense_model)["indexed"]
    assert [each["root"] for each in indexed] == [str(other), str(workspace)]


def test_a_rebuild_indexes_everything_anew(workspace: Path, dense_model: Path) -> None:
    told("add", workspace, "--model", dense_model)
    [rebuilt] = told("rebuild", "--model", dense_model)["indexed"]
    assert (rebuilt["root"], rebuilt["added"]) == (str(workspace), 1)
    assert len(told("status")["corpora"]) == 1


def test_a_rebuild_drops_what_is_gone_and_formats_no_longer_in_use(
    workspace: Path, tmp_path: Path, dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    with monkeypatch.context() as patch:
        patch.setenv("COPYDRAFT_EDIT_FORMAT", "tool-call")
        told("add", gone, "--model", dense_model)
        told("add", workspace, "--model", dense_model)
    gone.rmdir()
    told("rebuild", "--model", dense_model)
    corpora = told("status")["corpora"]
    assert [(each["root"], each["format"]) for each in corpora] == [(str(workspace), "plain")]


def test_a_rebuild_drops_a_library_that_no_workspace_uses_any_more(
    workspace: Path, tmp_path: Path, dense_model: Path
) -> None:
    library = tmp_path / "lib" / "python3.12"
    library.mkdir(parents=True)
    (library / "os.py").write_text("x = 1\n")
    (library / "notes.txt").write_text("not code\n")
    (workspace / ".venv").mkdir()
    (workspace / ".venv" / "pyvenv.cfg").write_text(f"home = {tmp_path}/bin\nversion = 3.12.1\n")
    told("add", workspace, "--model", dense_model)
    documents = {each["root"]: each["documents"] for each in told("status")["corpora"]}
    assert documents == {str(workspace): 1, str(library): 1}
    shutil.rmtree(workspace)
    assert told("rebuild", "--model", dense_model)["indexed"] == []
    shown = run("rebuild", "--model", dense_model).stdout
    assert shown == "nothing is indexed in this model's tokens\n"
    assert told("status")["corpora"] == []


def test_a_rebuild_keeps_what_the_user_added_for_all_workspaces(
    workspace: Path, tmp_path: Path, dense_model: Path
) -> None:
    told("global", "add", workspace, "--model", dense_model)
    [rebuilt] = told("rebuild", "--model", dense_model)["indexed"]
    assert (rebuilt["root"], rebuilt["kind"], rebuilt["added"]) == (str(workspace), "global", 1)


def test_the_formats_of_the_daemon_are_indexed(
    workspace: Path, dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPYDRAFT_EDIT_FORMAT", "tool-call")
    indexed = told("add", workspace, "--model", dense_model)["indexed"]
    assert [each["format"] for each in indexed] == ["plain", "json"]
    assert f"{workspace} as json: 0 files indexed" in (
        run("add", workspace, "--model", dense_model).stdout
    )


def test_a_model_that_calls_between_tags_has_text_as_it_is_indexed(
    workspace: Path, tagged_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPYDRAFT_EDIT_FORMAT", "tool-call")
    indexed = told("add", workspace, "--model", tagged_model)["indexed"]
    assert [each["format"] for each in indexed] == ["plain"]


def test_ctrl_c_keeps_what_was_indexed(
    workspace: Path, dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told("add", workspace, "--model", dense_model)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(terminal_indexing, "run", interrupted)
    fault = run("add", workspace, "--model", dense_model).exception
    assert isinstance(fault, Cancelled)
    assert "what was indexed is kept" in fault.hint
    assert [each["documents"] for each in told("status")["corpora"]] == [1]


def test_a_directorys_name_is_no_markup(tmp_path: Path, dense_model: Path) -> None:
    root = tmp_path / "[red]a"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n")
    assert f"{root}: 1 files" in run("add", root, "--model", dense_model).stdout
    assert str(root) in run("status").stdout


def test_tokenizers_are_told_apart_where_there_are_several(
    workspace: Path, dense_model: Path
) -> None:
    told("add", workspace, "--model", dense_model)
    assert "tokenizer  " not in run("status").stdout
    key = CorpusKey("workspace", "/elsewhere", "plain", "another")
    IndexCache(paths.index_database()).run(lambda db: shards.make_corpus(db, key, time.time()))
    assert "another" in run("status").stdout


def test_clearing_deletes_the_index(workspace: Path, dense_model: Path) -> None:
    told("add", workspace, "--model", dense_model)
    assert told("clear")["freed_bytes"] > 0
    assert told("status")["corpora"] == []
    assert "deleted 0" in run("clear").stdout


def test_an_index_that_is_being_written_is_not_cleared(isolated_home: Path) -> None:
    with IndexCache(paths.index_database()).writing():
        assert isinstance(run("clear").exception, DiskProblem)


@pytest.mark.parametrize("command", [("add",), ("global", "add")])
def test_homes_and_directories_of_secrets_are_not_indexed(
    isolated_home: Path, dense_model: Path, command: tuple[str, ...]
) -> None:
    (isolated_home / ".ssh").mkdir()
    (isolated_home / ".ssh" / "config").write_text("Host example\n")
    for directory in (isolated_home, isolated_home.parent, isolated_home / ".ssh"):
        fault = run(*command, directory, "--model", dense_model).exception
        assert isinstance(fault, BadRequest)
        assert fault.message == f"{directory} is no directory of one project"
    assert told("status")["corpora"] == []
    assert told("status")["directories"] == []


def test_what_is_no_directory_or_no_model_is_refused(
    workspace: Path, tmp_path: Path, dense_model: Path
) -> None:
    for arguments in (("add", tmp_path / "gone"), ("global", "add", workspace / "a.py")):
        result = run(*arguments, "--model", dense_model)
        assert isinstance(result.exception, BadRequest)
        assert result.exception.message.endswith("is not a directory")
    assert isinstance(run("add", workspace, "--model", "unknown").exception, ModelProblem)
