"""The doctor on settings, model, index, daemon, socket and disk."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from copydraft import config, devices, paths
from copydraft.api import api_key
from copydraft.doctor import examination, machine, service
from copydraft.doctor.finding import Finding
from copydraft.index import shards
from copydraft.index.cache import IndexCache
from copydraft.index.shards import CorpusKey
from copydraft.models.gguf import read_metadata


def test_a_model_that_is_not_here_yet_is_a_warning() -> None:
    [finding] = service.check_model()
    assert finding.state == "warning"
    assert "is not downloaded yet" in finding.message


def test_a_model_that_fits_is_described(dense_model: Path) -> None:
    config.store("model", str(dense_model))
    [finding] = service.check_model()
    assert finding.state == "ok"
    assert finding.message.startswith(f"{dense_model}: qwen2, dense, ")


def test_a_model_that_does_not_fit_is_a_problem(
    dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "usable_card_memory", lambda **_: 1_000_000)
    config.store("model", str(dense_model))
    [finding] = service.check_model()
    assert finding.state == "problem"
    assert "more than the 1 MB of this machine" in finding.message


@pytest.mark.parametrize(("memory", "context"), [(None, "8,192"), (10**10, "32,768")])
def test_memory_is_judged_for_the_context_that_the_daemon_will_use(
    dense_model: Path, monkeypatch: pytest.MonkeyPatch, memory: int | None, context: str
) -> None:
    monkeypatch.setattr(devices, "usable_card_memory", lambda **_: memory)
    metadata = dataclasses.replace(read_metadata(dense_model), context_length=65536)
    monkeypatch.setattr(service, "read_metadata", lambda path: metadata)
    config.store("model", str(dense_model))
    [finding] = service.check_model()
    assert finding.message.endswith(f"with {context} tokens of context")


def test_a_damaged_model_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"no model")
    config.store("model", str(tmp_path / "broken.gguf"))
    [finding] = examination.examine({"model": service.check_model})
    assert finding.state == "problem"


def test_a_bad_setting_is_a_problem() -> None:
    paths.make_dir(paths.config_file().parent)
    paths.config_file().write_text("threads = 'many'\n")
    [finding] = examination.examine({"settings": service.check_settings})
    assert finding.state == "problem"


def test_settings_that_were_changed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPYDRAFT_THREADS", "4")
    assert list(service.check_settings()) == [
        Finding("settings", "ok", "set: threads (environment)")
    ]


def test_no_daemon_is_no_problem() -> None:
    assert list(service.check_daemon()) == [
        Finding("daemon", "ok", "not running; the first request starts it")
    ]


def test_a_daemon_with_other_card_variables_is_a_warning() -> None:
    ours = {"HSA_OVERRIDE_GFX_VERSION": "11.0.0", "PATH": "/bin"}
    [finding] = service.judge_environment(ours, {"PATH": "/usr/bin"})
    assert finding.message == (
        "it was started with another HSA_OVERRIDE_GFX_VERSION than this shell has"
    )
    assert list(service.judge_environment(ours, ours)) == []


def test_a_socket_path_that_is_too_long_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("long" * 25)))
    [finding] = examination.examine({"socket": service.check_socket})
    assert finding.state == "problem"
    assert finding.message.startswith("the socket's path is too long for the system: ")


def test_a_socket_that_others_can_use_is_a_problem() -> None:
    paths.socket_path().touch(mode=0o600)
    assert [finding.state for finding in service.check_socket()] == ["ok"]
    paths.socket_path().chmod(0o666)
    [finding] = service.check_socket()
    assert finding.message == f"{paths.socket_path()} has mode 666"


def test_a_full_disk_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: _Usage())
    finding = machine.judge_directory("models", tmp_path / "not" / "yet")
    assert finding.state == "warning"
    assert finding.message == f"{tmp_path}/not/yet has only 5 MB free"


class _Usage:
    free = 5_000_000


def test_a_directory_that_cannot_be_written_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    finding = machine.judge_directory("models", tmp_path / "not" / "yet")
    assert finding.message == f"you may not write into {tmp_path}"


def test_no_index_is_no_problem_and_makes_none() -> None:
    [finding] = service.check_index()
    assert finding.message == f"{paths.index_database()}, made when a workspace is opened"
    assert not paths.index_database().exists()


def test_an_index_is_told_with_its_sizes() -> None:
    key = CorpusKey("workspace", "/src", "plain", "tokenizer")
    cache = IndexCache(paths.index_database())
    cache.run(lambda db: shards.make_corpus(db, key, 0.0))
    [finding] = service.check_index()
    assert finding.state == "ok"
    assert "1 directory, 0 tokens, " in finding.message


def test_an_index_that_cannot_be_read_is_a_problem() -> None:
    paths.index_database().mkdir(parents=True)
    [finding] = examination.examine({"index": service.check_index})
    assert finding.state == "problem"
    assert finding.message.startswith(f"no index: {paths.index_database()}: ")


# --- agents -----------------------------------------------------------------------------------


def test_agents_that_are_not_served_are_no_problem() -> None:
    [finding] = service.check_api()
    assert (finding.state, finding.message) == (
        "ok",
        "not served; `copydraft api on` serves them",
    )


def test_agents_cannot_start_the_daemon_that_would_serve_them() -> None:
    config.store("api_port", 8137)
    [finding] = service.check_api()
    assert (finding.state, finding.message, finding.remedy) == (
        "warning",
        "no daemon runs that would serve them at port 8137",
        "`copydraft daemon start`",
    )


def test_a_key_that_others_may_read_is_a_problem() -> None:
    config.store("api_port", 8137)
    api_key.ensure()
    paths.api_key_file().chmod(0o640)
    [finding] = examination.examine({"agents": service.check_api})
    assert finding.state == "problem"
    assert finding.remedy == "`copydraft api on --new-key` makes another"
