"""llama.cpp's server is started with our engine's settings, asked, and ended."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from copydraft import devices
from copydraft.errors import EngineProblem, FileProblem, OutOfMemory
from copydraft.evaluation.llama_server import (
    Completion,
    LlamaServer,
    Servers,
    Setup,
    check_memory,
    read_answer,
)
from tests.fixtures.fake_llama_server import program


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(program(tmp_path), Path("/m.gguf"), context=512, threads=2, gpu_layers=0)


@pytest.fixture
def servers(setup: Setup) -> Iterator[Servers]:
    here = Servers(setup)
    yield here
    here.close()


def test_a_server_has_the_settings_of_our_engine(setup: Setup) -> None:
    command = " ".join(setup.arguments("plain", 8123)[1:])
    assert command == (
        "--model /m.gguf --host 127.0.0.1 --port 8123 --ctx-size 512 --threads 2 "
        "--threads-batch 2 --batch-size 512 --ubatch-size 512 --parallel 1 --gpu-layers 0 "
        "--flash-attn off --fit off --cache-ram 0 --swa-full --offline --no-ui"
    )


def test_a_type_of_drafting_is_an_option_more(setup: Setup) -> None:
    assert "--spec-type ngram-mod" in " ".join(setup.arguments("ngram-mod", 8123))


def test_on_a_card_all_layers_go_there_and_attention_is_as_llama_cpp_likes(setup: Setup) -> None:
    command = " ".join(setup._replace(gpu_layers=-1).arguments("plain", 8123))
    assert "--gpu-layers 999 --flash-attn auto" in command


def test_the_prompt_is_read_once_and_decoding_is_timed_from_its_last_token(
    servers: Servers,
) -> None:
    server = servers.of("plain", 0)
    server.complete([5, 6, 7], max_tokens=1)
    assert server.complete([5, 6, 7], max_tokens=3) == Completion([8, 9, 10], 0.11, 0, 0, False)


def test_drafts_are_counted(servers: Servers) -> None:
    done = servers.of("ngram-mod", 0).complete([1], max_tokens=2)
    assert (done.drafted, done.accepted) == (3, 2)


def test_a_server_serves_a_whole_repeat_and_is_new_in_the_next(servers: Servers) -> None:
    first = servers.of("plain", 0)
    assert servers.of("plain", 0) is first
    assert servers.of("plain", 1) is not first


def test_types_run_beside_one_another(servers: Servers) -> None:
    plain, other = servers.of("plain", 0), servers.of("ngram-mod", 0)
    assert plain.complete([1], 1).tokens == other.complete([1], 1).tokens == [2]


def test_a_server_that_ends_at_once_is_told_with_its_last_words(setup: Setup) -> None:
    with pytest.raises(EngineProblem, match="llama-server ended: error: the model is damaged"):
        LlamaServer(setup._replace(model=Path("/damaged.gguf")), "plain")


def test_a_refused_prompt_is_told(servers: Servers) -> None:
    with pytest.raises(EngineProblem, match=r"refused a prompt: .*too long"):
        servers.of("plain", 0).complete([1] * 600, max_tokens=1)


def test_a_program_that_does_not_start_is_told(setup: Setup, tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match=r"cannot start .*nothing"):
        LlamaServer(setup._replace(binary=tmp_path / "nothing"), "plain")


def test_a_closed_server_is_gone(setup: Setup) -> None:
    server = LlamaServer(setup, "plain")
    server.close()
    with pytest.raises(ProcessLookupError):
        os.kill(server.process_id, 0)


def test_an_answer_that_ended_by_itself_is_told_from_one_that_was_cut() -> None:
    timings = {"prompt_n": 2, "prompt_ms": 40.0, "predicted_ms": 80.0}
    answer = {"tokens": [4], "stop_type": "eos", "timings": timings}
    assert read_answer(json.dumps(answer).encode()) == Completion([4], 0.1, 0, 0, ended=True)


def test_an_answer_of_another_version_is_told() -> None:
    with pytest.raises(EngineProblem, match="cannot be read"):
        read_answer(b'{"content": "x"}')


def test_servers_that_do_not_fit_are_refused_before_they_start(
    setup: Setup, dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "available_memory", lambda: 1024)
    with pytest.raises(OutOfMemory, match="2 servers need") as caught:
        check_memory(setup._replace(model=dense_model), 2)
    assert "--arms" in caught.value.hint
