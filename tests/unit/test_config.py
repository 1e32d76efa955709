"""Settings: where they come from, what they may be, and how one is stored."""

from __future__ import annotations

import errno
import math
from pathlib import Path

import pytest

from copydraft import config, paths
from copydraft.errors import BadRequest, DiskProblem


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


# --- reading --------------------------------------------------------------------------------


def test_without_a_file_all_settings_have_their_defaults(file: Path) -> None:
    assert config.load(environ={}, file=file) == config.Config()


def test_the_file_goes_before_the_defaults(file: Path) -> None:
    file.write_text("threads = 3\n")
    loaded = config.load(environ={}, file=file)
    assert (loaded.threads, loaded.max_draft) == (3, 63)


def test_the_environment_goes_before_the_file(file: Path) -> None:
    file.write_text("threads = 3\n")
    assert config.load(environ={"COPYDRAFT_THREADS": "5"}, file=file).threads == 5


def test_flags_go_before_the_environment(file: Path) -> None:
    environ = {"COPYDRAFT_THREADS": "5"}
    assert config.load({"threads": 7}, environ=environ, file=file).threads == 7


def test_a_flag_that_was_not_given_changes_nothing(file: Path) -> None:
    environ = {"COPYDRAFT_THREADS": "5"}
    assert config.load({"threads": None}, environ=environ, file=file).threads == 5


def test_the_source_of_every_value_is_known(file: Path) -> None:
    file.write_text("threads = 3\nstrict = true\n")
    sources = config.sources(environ={"COPYDRAFT_STRICT": "0"}, file=file)
    assert (sources["threads"], sources["strict"], sources["model"]) == (
        "file",
        "environment",
        "default",
    )


def test_never_is_inf_in_the_file_and_in_the_environment(file: Path) -> None:
    file.write_text("idle_exit_minutes = inf\n")
    loaded = config.load(environ={"COPYDRAFT_IDLE_UNLOAD_MINUTES": "inf"}, file=file)
    assert (loaded.idle_exit_minutes, loaded.idle_unload_minutes) == (math.inf, math.inf)


def test_an_unknown_key_is_told_with_the_known_ones(file: Path) -> None:
    file.write_text("thread = 3\n")
    with pytest.raises(BadRequest, match="unknown field `thread`") as refused:
        config.load(environ={}, file=file)
    assert "threads, gpu_layers" in refused.value.hint


def test_a_value_of_the_wrong_type_is_refused(file: Path) -> None:
    file.write_text('threads = "many"\n')
    with pytest.raises(BadRequest, match=r"^bad setting threads: Expected `int`") as refused:
        config.load(environ={}, file=file)
    assert refused.value.hint == f"mend it in {file}"


def test_a_file_that_is_not_toml_is_refused(file: Path) -> None:
    file.write_text("threads: 3\n")
    with pytest.raises(BadRequest, match=r"cannot read .*config\.toml"):
        config.load(environ={}, file=file)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("context", "-1"),
        ("file_context", "-1"),
        ("threads", "-1"),
        ("gpu_layers", "-2"),
        ("max_draft", "-1"),
        ("max_draft", "128"),
        ("idle_unload_minutes", "0"),
        ("idle_exit_minutes", "-5"),
        ("idle_exit_minutes", "nan"),
        ("log_level", "loud"),
    ],
)
def test_a_value_out_of_range_is_refused_in_one_line_that_names_it(
    file: Path, key: str, value: str
) -> None:
    variable = f"COPYDRAFT_{key.upper()}"
    with pytest.raises(BadRequest, match=rf"^bad setting {key}: [^\n]*$") as refused:
        config.load(environ={variable: value}, file=file)
    assert refused.value.hint == f"mend it in the environment: {variable}"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("context", 0),
        ("threads", 0),
        ("gpu_layers", -1),
        ("max_draft", 0),
        ("max_draft", 127),
        ("idle_exit_minutes", 0.001),
    ],
)
def test_the_limits_themselves_are_allowed(file: Path, key: str, value: float) -> None:
    assert getattr(config.load({key: value}, environ={}, file=file), key) == value


# --- storing --------------------------------------------------------------------------------


def test_a_stored_setting_is_read_back() -> None:
    assert config.store("model", 'a "b"\\c') == paths.config_file()
    assert config.load().model == 'a "b"\\c'


def test_other_lines_and_comments_stay(file: Path) -> None:
    file.write_text('# mine\nthreads = 3  # of four\nmodel = "old"\n\nstrict = true\n')
    config.store("model", "new", file=file)
    assert file.read_text() == ('model = "new"\n# mine\nthreads = 3  # of four\n\nstrict = true\n')


@pytest.mark.parametrize("line", ['"model" = "old"', "'model'='old'", '  model="old"'])
def test_however_the_key_is_written_it_is_replaced(file: Path, line: str) -> None:
    file.write_text(f"{line}\n")
    config.store("model", "new", file=file)
    assert file.read_text() == 'model = "new"\n'


@pytest.mark.parametrize("text", ['model.name = "old"\n', '[model]\nname = "old"\n'])
def test_a_key_that_cannot_be_replaced_is_told_and_the_file_left(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(BadRequest, match="cannot change model"):
        config.store("model", "new", file=file)
    assert file.read_text() == text


def test_a_link_stays_and_the_file_behind_it_is_written(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "copydraft.toml"
    target.parent.mkdir()
    target.write_text("threads = 3\n")
    file.symlink_to(target)
    assert config.store("model", "new", file=file) == file
    assert file.is_symlink()
    assert target.read_text() == 'model = "new"\nthreads = 3\n'


def test_a_full_disk_is_a_fault_and_leaves_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    file.write_text("threads = 3\n")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(DiskProblem, match="No space left on device"):
            config.store("model", "new", file=file)
    assert file.read_text() == "threads = 3\n"
