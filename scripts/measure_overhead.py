"""What the daemon costs around llama.cpp: plain decoding through it beside a bare loop.

Prints two ratios of one run: tokens/s through the daemon over tokens/s of a loop that calls
llama.cpp and takes the likeliest token, and the share of a pass that is spent outside llama.cpp.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import llama_cpp
import numpy as np

from copydraft import devices
from copydraft.client import Client
from copydraft.models import library
from copydraft.protocol import ExplainRequest, ExplainResult, Generation, Region, RequestStats

SAMPLE = Path(__file__).read_text("utf-8")


def bare_loop(path: Path, threads: int) -> Callable[[int, int], float]:
    """A function of a prompt's length and a number of tokens: tokens per second of the loop."""
    llama_cpp.llama_log_set(_silent, None)
    model_params = llama_cpp.llama_model_default_params()
    model: Any = llama_cpp.llama_model_load_from_file(str(path).encode(), model_params)
    params = llama_cpp.llama_context_default_params()
    params.n_ctx, params.n_batch = 8192, 512
    params.n_threads = params.n_threads_batch = threads
    # As the daemon has it on a CPU.
    params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    context: Any = llama_cpp.llama_init_from_model(model, params)
    vocab: Any = llama_cpp.llama_model_get_vocab(model)
    size = llama_cpp.llama_vocab_n_tokens(vocab)
    text = (SAMPLE * 4).encode()
    prompt = (ctypes.c_int32 * len(text))()
    llama_cpp.llama_tokenize(vocab, text, len(text), prompt, len(text), False, False)
    one = (ctypes.c_int32 * 1)()

    def run(prompt_tokens: int, tokens: int) -> float:
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), False)
        for start in range(0, prompt_tokens, 512):
            chunk = prompt[start : min(start + 512, prompt_tokens)]
            array = (ctypes.c_int32 * len(chunk))(*chunk)
            llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(array, len(chunk)))
        batch = llama_cpp.llama_batch_get_one(one, 1)
        started = time.perf_counter()
        for _ in range(tokens):
            logits = np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, -1), (size,))
            one[0] = int(logits.argmax())
            llama_cpp.llama_decode(context, batch)
        return tokens / (time.perf_counter() - started)

    return run


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]  # a ctypes callback
def _silent(_level: int, _text: bytes, _data: object) -> None:
    pass


async def through_daemon(model: str, tokens: int) -> RequestStats:
    """The statistics of a plain explanation."""
    request = ExplainRequest(
        region=Region(path="sample.py", text=SAMPLE, start=24, end=52),
        question="Explain every line at length.",
        generation=Generation(model=model, draft=False, max_tokens=tokens),
    )
    async with await Client.connect() as client:
        async for event in client.explain(request):
            if isinstance(event, ExplainResult):
                return event.stats
    raise AssertionError("the stream ends with a result")


def one(bare: Callable[[int, int], float], path: Path, tokens: int) -> tuple[float, float, float]:
    """Tokens per second of the loop and of the daemon, and the share outside llama.cpp."""
    stats = asyncio.run(through_daemon(str(path), tokens))
    # At the same length of context, since attention costs what there is to look at.
    rate = bare(stats.prompt_tokens, stats.output_tokens)
    outside = 1 - sum(entry.ms for entry in stats.verify) / stats.decode_ms
    print(f"bare {rate:.1f}, daemon {stats.tokens_per_s:.1f} tokens/s, outside {outside:.2%}")
    return rate, stats.tokens_per_s, outside


async def stop_daemon() -> None:
    async with await Client.connect(start=False) as client:
        await client.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="overhead", description=__doc__)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    path = library.resolve(arguments.model)
    with tempfile.TemporaryDirectory() as scratch:
        # A daemon of its own: the user's may be busy.
        os.environ["XDG_RUNTIME_DIR"] = os.environ["XDG_STATE_HOME"] = scratch
        bare = bare_loop(path, devices.physical_cores())
        try:
            rows = [one(bare, path, arguments.tokens) for _ in range(arguments.repeats)]
        finally:
            asyncio.run(stop_daemon())
    print(
        json.dumps(
            {
                "daemon_over_bare": median(rate / bare for bare, rate, _ in rows),
                "share_outside_llama_cpp": median(outside for _, _, outside in rows),
            }
        )
    )


if __name__ == "__main__":
    main()
