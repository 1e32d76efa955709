"""A model's metadata, and what is said of files that are none."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import gguf as package
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copydraft.errors import ModelProblem
from copydraft.models.gguf import memory_needed, read_metadata
from tests.fixtures import tiny_models

HEADER_BYTES = 9000
"""Of the tiny dense model: about as long as its keys and tensors' places."""


@pytest.fixture(scope="module")
def dense_bytes(dense_model: Path) -> bytes:
    return dense_model.read_bytes()


# --- what is read ---------------------------------------------------------------------------


def test_a_dense_models_facts_are_read(dense_model: Path) -> None:
    metadata = read_metadata(dense_model)
    assert metadata.path == dense_model
    assert metadata.name == "tiny qwen2"
    assert metadata.architecture == "qwen2"
    assert metadata.context_length == 2048
    assert metadata.embedding_length == 64
    assert metadata.block_count == 2
    assert metadata.head_count == 4
    assert metadata.kv_heads == (2, 2)
    assert metadata.vocab_size == len(tiny_models.Vocabulary())
    assert metadata.tokenizer == "gpt2"
    assert metadata.pre_tokenizer == "qwen2"
    assert metadata.chat_template == tiny_models.CHAT_TEMPLATE
    assert metadata.eos_token == tiny_models.Vocabulary().id("<|im_end|>")
    assert metadata.bos_token is None
    assert metadata.size == dense_model.stat().st_size
    assert metadata.weight_bytes == 4 * metadata.parameters


def test_full_attention_is_dense_memory(dense_model: Path) -> None:
    metadata = read_metadata(dense_model)
    assert (metadata.memory_kind, metadata.sliding_window) == ("dense", 0)
    # Two layers, two heads, keys and values of 16 numbers, two bytes each.
    assert (metadata.kv_bytes, metadata.state_bytes) == (256, 0)


def test_a_sliding_window_is_seen(sliding_window_model: Path) -> None:
    metadata = read_metadata(sliding_window_model)
    assert (metadata.memory_kind, metadata.sliding_window) == ("sliding-window", 32)


def test_a_hybrid_keeps_keys_in_every_fourth_layer_and_states_in_the_others(
    hybrid_model: Path,
) -> None:
    metadata = read_metadata(hybrid_model)
    assert metadata.memory_kind == "hybrid"
    assert metadata.kv_heads == (0, 0, 0, 2)
    # Three layers: three inputs of 128 channels, and 64 rows of 16 numbers, four bytes each.
    assert metadata.state_bytes == 3 * (3 * 128 + 64 * 16) * 4


def test_short_convolutions_make_a_hybrid(short_conv_model: Path) -> None:
    metadata = read_metadata(short_conv_model)
    assert metadata.memory_kind == "hybrid"
    assert metadata.kv_heads == (0, 0, 2, 0)
    # Three layers that keep two inputs of 64 numbers.
    assert metadata.state_bytes == 3 * 2 * 64 * 4


def test_states_without_attention_are_recurrent_memory(tmp_path: Path) -> None:
    def keys(writer: package.GGUFWriter) -> None:
        writer.add_head_count(0)
        writer.add_ssm_conv_kernel(4)
        writer.add_ssm_inner_size(32)
        writer.add_ssm_state_size(8)

    metadata = read_metadata(write(tmp_path / "mamba.gguf", "mamba", keys))
    assert (metadata.memory_kind, metadata.kv_bytes) == ("recurrent", 0)
    assert metadata.state_bytes == 2 * (3 * 32 + 32 * 8) * 4


def test_the_quantization_is_named_as_in_file_names(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.gguf",
        "llama",
        lambda writer: writer.add_file_type(package.LlamaFileType.MOSTLY_Q4_K_M),
    )
    assert read_metadata(path).quantization == "Q4_K_M"


def test_memory_grows_with_the_context_and_with_states_to_go_back_to(hybrid_model: Path) -> None:
    metadata = read_metadata(hybrid_model)
    base = memory_needed(metadata, 1000)
    assert memory_needed(metadata, 1100) - base == 100 * metadata.kv_bytes
    assert memory_needed(metadata, 1000, rollback=10) - base == 2 * metadata.state_bytes
    assert base > metadata.weight_bytes


@pytest.mark.model
def test_a_real_models_header_is_read(real_model: Callable[[str], Path]) -> None:
    metadata = read_metadata(real_model("smollm2-135m"))
    assert metadata.architecture == "llama"
    assert metadata.vocab_size == 49152
    assert metadata.quantization == "Q4_1"
    assert metadata.parameters == 134515008
    assert metadata.kv_bytes == 23040


# --- what is refused ------------------------------------------------------------------------


def refusal(path: Path) -> str:
    with pytest.raises(ModelProblem) as caught:
        read_metadata(path)
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value.message


def changed(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "changed.gguf"
    path.write_bytes(content)
    return path


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    assert refusal(changed(tmp_path, b"#!/bin/sh\n" * 9)).endswith("it is not a GGUF file")


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    assert refusal(changed(tmp_path, b"")).endswith("it is empty")


def test_a_directory_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path} cannot be used: it is not a file"


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.gguf")
    assert refusal(tmp_path / "a.gguf").endswith("it is not a file")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "a.gguf").endswith("No such file or directory")


def test_a_file_cut_in_its_weights_is_refused(tmp_path: Path, dense_bytes: bytes) -> None:
    message = refusal(changed(tmp_path, dense_bytes[:-1]))
    assert f"it is cut short: {len(dense_bytes) - 1} bytes of {len(dense_bytes)}" in message


def test_a_file_cut_in_its_header_is_refused(tmp_path: Path, dense_bytes: bytes) -> None:
    assert refusal(changed(tmp_path, dense_bytes[:1000])).endswith("it ends within its header")


def test_a_file_of_another_byte_order_is_refused(tmp_path: Path, dense_bytes: bytes) -> None:
    swapped = dense_bytes[:4] + struct.pack(">I", 3) + dense_bytes[8:]
    assert "its GGUF version is 50331648" in refusal(changed(tmp_path, swapped))


def test_an_endless_count_is_refused_at_once(tmp_path: Path, dense_bytes: bytes) -> None:
    endless = dense_bytes[:16] + struct.pack("<Q", 1 << 60) + dense_bytes[24:]
    assert "counts 1152921504606846976 elements" in refusal(changed(tmp_path, endless))


def test_a_projector_is_no_language_model(tmp_path: Path) -> None:
    path = write(tmp_path / "mmproj.gguf", "clip", lambda writer: writer.add_type("mmproj"))
    assert refusal(path).endswith("is no language model (mmproj, clip)")


def test_a_model_for_embeddings_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "bert.gguf", "bert", lambda writer: writer.add_causal_attention(False))
    assert "writes no text" in refusal(path)


def test_more_layers_than_llama_cpp_can_load_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "deep.gguf", "llama", lambda writer: writer.add_block_count(513))
    assert refusal(path).endswith("has more layers than llama.cpp can load (512)")


def test_a_vocabulary_that_llama_cpp_reads_unchecked_is_refused(tmp_path: Path) -> None:
    path = write(
        tmp_path / "plamo.gguf", "plamo2", lambda writer: writer.add_tokenizer_model("plamo2")
    )
    assert "has a vocabulary of the kind plamo2" in refusal(path)


def test_a_header_without_an_architecture_is_refused(tmp_path: Path) -> None:
    empty = b"GGUF" + struct.pack("<IQQ", 3, 0, 0)
    assert "does not say its general.architecture" in refusal(changed(tmp_path, empty))


def test_a_first_part_without_its_others_is_refused(tmp_path: Path, dense_bytes: bytes) -> None:
    first = tmp_path / "big-00001-of-00002.gguf"
    first.write_bytes(dense_bytes)
    assert refusal(first) == "big-00002-of-00002.gguf is missing"


def test_a_later_part_is_refused_with_the_first_ones_name(tmp_path: Path) -> None:
    later = tmp_path / "big-00002-of-00002.gguf"
    later.touch()
    with pytest.raises(ModelProblem) as caught:
        read_metadata(later)
    assert caught.value.hint == f"give its first: {tmp_path / 'big-00001-of-00002.gguf'}"


def test_sizes_of_a_split_model_are_those_of_all_parts(tmp_path: Path, dense_bytes: bytes) -> None:
    whole = read_metadata(changed(tmp_path, dense_bytes))
    for part in (1, 2):
        (tmp_path / f"big-0000{part}-of-00002.gguf").write_bytes(dense_bytes)
    split = read_metadata(tmp_path / "big-00001-of-00002.gguf")
    assert split.size == 2 * whole.size
    assert split.weight_bytes == 2 * whole.weight_bytes
    assert split.vocab_size == whole.vocab_size


# The directory is the test's own and each example overwrites the one file in it.
relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@relaxed
@given(length=st.integers(0, HEADER_BYTES))
def test_any_truncation_is_refused(tmp_path: Path, dense_model: Path, length: int) -> None:
    refusal(changed(tmp_path, dense_model.read_bytes()[:length]))


@relaxed
@given(flips=st.lists(st.integers(0, 8 * HEADER_BYTES - 1), min_size=1, max_size=4))
def test_flipped_bits_in_the_header_are_read_or_refused(
    tmp_path: Path, dense_model: Path, flips: list[int]
) -> None:
    content = bytearray(dense_model.read_bytes())
    for flip in flips:
        content[flip // 8] ^= 1 << flip % 8
    path = changed(tmp_path, bytes(content))
    try:
        metadata = read_metadata(path)
    except ModelProblem:
        return
    assert memory_needed(metadata, 1024) > 0


@relaxed
@given(tail=st.binary(max_size=200))
def test_any_bytes_behind_the_magic_are_refused(tmp_path: Path, tail: bytes) -> None:
    refusal(changed(tmp_path, b"GGUF\x03\x00\x00\x00" + tail))


def write(path: Path, architecture: str, keys: Callable[[package.GGUFWriter], object]) -> Path:
    """A file of two layers, a vocabulary of one token, and no tensors."""
    writer = package.GGUFWriter(path, architecture)
    writer.add_context_length(128)
    writer.add_embedding_length(16)
    writer.add_block_count(2)
    writer.add_token_list(["a"])
    keys(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    return path
