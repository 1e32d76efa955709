"""Models on this machine: found, listed, chosen and removed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from copydraft import config, paths
from copydraft.errors import BadRequest, ModelProblem
from copydraft.models import catalog, library

SMALL = catalog.find("smollm2-135m")


def place(content: bytes = b"model") -> Path:
    path = library.path_of(SMALL)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_downloaded_model_is_found_by_name() -> None:
    path = place()
    assert library.resolve("SmolLM2-135M") == path


def test_a_model_that_is_not_downloaded_says_how_to_get_it() -> None:
    with pytest.raises(ModelProblem, match="smollm2-135m is not downloaded") as caught:
        library.resolve("smollm2-135m")
    assert caught.value.hint == "run `copydraft model pull smollm2-135m`"


def test_a_local_file_is_found_by_relative_path(
    dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(dense_model.parent)
    assert library.resolve("dense.gguf") == dense_model


def test_the_home_directory_is_expanded(isolated_home: Path) -> None:
    (isolated_home / "a.gguf").touch()
    assert library.resolve("~/a.gguf") == isolated_home / "a.gguf"


def test_a_missing_local_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelProblem, match=r"there is no file .*/none\.gguf"):
        library.resolve(str(tmp_path / "none.gguf"))


def test_the_list_shows_what_is_here_and_what_was_left() -> None:
    path = place()
    other = catalog.find("gemma-3-270m")
    library.partial_path(other, "a" * 64).write_bytes(b"1234")
    listed = {item.entry.name: item for item in library.listed()}
    assert list(listed) == list(catalog.MODELS)
    assert listed["smollm2-135m"].path == path
    assert (listed["gemma-3-270m"].path, listed["gemma-3-270m"].partial_bytes) == (None, 4)


def test_a_local_model_is_used_by_its_absolute_path(
    dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(dense_model.parent)
    assert library.use("./dense.gguf") == paths.config_file()
    assert config.load().model == str(dense_model)


def test_a_model_of_the_catalog_is_used_by_its_name(dense_model: Path) -> None:
    place(dense_model.read_bytes())
    library.use("SmolLM2-135M")
    assert config.load().model == "smollm2-135m"


def test_a_file_that_is_no_model_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_text("hello")
    with pytest.raises(ModelProblem, match="it is not a GGUF file"):
        library.use(str(tmp_path / "a.gguf"))
    assert config.load().model == ""


def test_removing_a_model_frees_its_file_and_its_partial_ones() -> None:
    path = place(b"12345")
    library.partial_path(SMALL, "a" * 64).write_bytes(b"123")
    assert library.remove("smollm2-135m") == 8
    assert not path.exists()
    assert library.listed()[0].partial_bytes == 0


def test_a_model_that_is_not_here_cannot_be_removed() -> None:
    with pytest.raises(ModelProblem, match="smollm2-135m is not downloaded"):
        library.remove("smollm2-135m")


def test_a_users_own_file_is_never_removed(dense_model: Path) -> None:
    with pytest.raises(BadRequest, match="is a path"):
        library.remove(str(dense_model))
    assert dense_model.exists()


def test_a_link_in_the_models_directory_is_removed_and_not_its_target(tmp_path: Path) -> None:
    target = tmp_path / "mine.gguf"
    target.write_bytes(b"12345")
    path = library.path_of(SMALL)
    path.parent.mkdir(parents=True)
    path.symlink_to(target)
    library.remove("smollm2-135m")
    assert not path.is_symlink()
    assert target.read_bytes() == b"12345"


def test_a_model_being_pulled_is_not_removed() -> None:
    path = place()
    held, done = threading.Event(), threading.Event()

    def pull() -> None:
        with library.locked(SMALL, lambda: None):
            held.set()
            done.wait(10)

    thread = threading.Thread(target=pull)
    thread.start()
    held.wait(10)
    try:
        with pytest.raises(ModelProblem, match="is being pulled"):
            library.remove("smollm2-135m")
    finally:
        done.set()
        thread.join()
    assert path.exists()
