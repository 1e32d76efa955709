"""Decodes with a tiny random model: run in a child process, it proves that llama.cpp works here.

A build for another CPU dies by SIGILL at its first decode, one without its libraries cannot be
imported. The weights are quantized and the batch is wide, since the kernels that differ from CPU
to CPU (repacked weights, AMX tiles) run on nothing less. Prints the devices that the build has.
"""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path

import gguf
import llama_cpp
import numpy as np
import numpy.typing as npt

_VOCABULARY = 256
_EMBEDDING = 256
_FEED_FORWARD = 512
_HEADS = 4
_WIDTH = 64

Logits = npt.NDArray[np.float32]


def write_model(path: Path) -> None:
    """One block of a Llama: Q4_0 weights, a Q8_0 output layer, no tokenizer."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(_WIDTH)
    writer.add_embedding_length(_EMBEDDING)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_FEED_FORWARD)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(_VOCABULARY)
    writer.add_tokenizer_model("none")

    random = np.random.default_rng(0)
    q4, q8 = gguf.GGMLQuantizationType.Q4_0, gguf.GGMLQuantizationType.Q8_0
    for name, rows, columns, kind in (
        ("token_embd", _VOCABULARY, _EMBEDDING, q8),
        ("output", _VOCABULARY, _EMBEDDING, q8),
        ("blk.0.attn_q", _EMBEDDING, _EMBEDDING, q4),
        ("blk.0.attn_k", _EMBEDDING, _EMBEDDING, q4),
        ("blk.0.attn_v", _EMBEDDING, _EMBEDDING, q4),
        ("blk.0.attn_output", _EMBEDDING, _EMBEDDING, q4),
        ("blk.0.ffn_gate", _FEED_FORWARD, _EMBEDDING, q4),
        ("blk.0.ffn_up", _FEED_FORWARD, _EMBEDDING, q4),
        ("blk.0.ffn_down", _EMBEDDING, _FEED_FORWARD, q4),
    ):
        weights = random.normal(0, 0.1, (rows, columns)).astype(np.float32)
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(weights, kind), raw_dtype=kind)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(_EMBEDDING, np.float32))

    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def last_logits(path: Path, widths: list[int]) -> Logits:
    """Decode the tokens 0, 1, 2, … in passes of these widths; the logits after the last."""
    placement = llama_cpp.llama_model_default_params()
    placement.n_gpu_layers = 99
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), placement)
    if not model:
        raise SystemExit("llama.cpp cannot load the tiny model")
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx = settings.n_batch = settings.n_ubatch = _WIDTH
    context = llama_cpp.llama_init_from_model(model, settings)
    start = 0
    for width in widths:
        tokens = (llama_cpp.llama_token * width)(*range(start, start + width))
        if llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(tokens, width)):
            raise SystemExit(f"llama.cpp cannot decode {width} tokens at once")
        start += width
    logits = np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, -1), (_VOCABULARY,))
    return logits.copy()


def devices() -> list[str]:
    """What llama.cpp found to compute on, as in `CPU (AMD Ryzen 7 9800X3D)`."""
    lib = llama_cpp.llama_cpp._lib
    lib.ggml_backend_dev_count.restype = ctypes.c_size_t
    lib.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
    lib.ggml_backend_dev_get.restype = ctypes.c_void_p
    for name in ("ggml_backend_dev_name", "ggml_backend_dev_description"):
        getattr(lib, name).argtypes = [ctypes.c_void_p]
        getattr(lib, name).restype = ctypes.c_char_p
    found = [lib.ggml_backend_dev_get(index) for index in range(lib.ggml_backend_dev_count())]
    return [
        f"{lib.ggml_backend_dev_name(device).decode()} "
        f"({lib.ggml_backend_dev_description(device).decode()})"
        for device in found
    ]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="copydraft-") as folder:
        path = Path(folder) / "tiny.gguf"
        write_model(path)
        together = last_logits(path, [_WIDTH])
        singly = last_logits(path, [1] * _WIDTH)
    # Other kernels round differently, by a few hundredths here; broken ones are off by the scale.
    if not np.abs(together - singly).max() < together.std() / 2:
        raise SystemExit("llama.cpp computes wrong numbers")
    print("\n".join(devices()))


if __name__ == "__main__":
    main()
