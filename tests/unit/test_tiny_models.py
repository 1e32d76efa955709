"""The tests' own models do in llama.cpp what they were written for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from tests.fixtures.tiny_models import CONTROL_TOKENS, IM_END, Vocabulary

PROMPT = "<|im_start|>user\nFix def a(): return 1<|im_end|>\n<|im_start|>assistant\n"
AnsweringModel = Callable[..., Path]
RANDOM_MODELS = ("dense_model", "sliding_window_model", "hybrid_model", "short_conv_model")

# llama.cpp keeps the pointer for the whole process.
_SILENT = llama_cpp.llama_log_callback(lambda *_: None)


def greedy(path: Path, prompt: str, most: int) -> tuple[list[int], str]:
    """Up to `most` tokens by llama.cpp alone, the end token included, and their text."""
    llama_cpp.llama_backend_init()
    llama_cpp.llama_log_set(_SILENT, ctypes.c_void_p(0))
    model = llama_cpp.llama_model_load_from_file(
        str(path).encode(), llama_cpp.llama_model_default_params()
    )
    assert model is not None
    parameters = llama_cpp.llama_context_default_params()
    parameters.n_ctx = 2048
    context = llama_cpp.llama_init_from_model(model, parameters)
    vocab = llama_cpp.llama_model_get_vocab(model)
    size = llama_cpp.llama_vocab_n_tokens(vocab)

    buffer = (llama_cpp.llama_token * 2048)()
    data = prompt.encode()
    count = llama_cpp.llama_tokenize(vocab, data, len(data), buffer, len(buffer), False, True)
    fresh = list(buffer[:count])
    written: list[int] = []
    text = b""
    while len(written) < most:
        tokens = (llama_cpp.llama_token * len(fresh))(*fresh)
        batch = llama_cpp.llama_batch_get_one(tokens, len(fresh))
        assert llama_cpp.llama_decode(context, batch) == 0
        logits = np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, -1), (size,))
        token = int(logits.argmax())
        written.append(token)
        if llama_cpp.llama_vocab_is_eog(vocab, token):
            break
        piece = ctypes.create_string_buffer(4096)
        length = llama_cpp.llama_token_to_piece(vocab, token, piece, len(piece), 0, False)
        text += piece.raw[:length]
        fresh = [token]
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
    return written, text.decode(errors="replace")


@pytest.mark.parametrize("name", RANDOM_MODELS)
def test_a_random_model_writes_varied_text_without_end(
    name: str, request: pytest.FixtureRequest
) -> None:
    written, _ = greedy(request.getfixturevalue(name), PROMPT, 60)
    assert len(written) == 60
    assert len(set(written)) > 30
    controls = {Vocabulary().id(token) for token in CONTROL_TOKENS}
    assert controls.isdisjoint(written)


@pytest.mark.parametrize(
    "answer",
    [
        "Here é 😀:\n```python\ndef a():\n    return 1\n\n\ndef b():\n    return 1\n```\n",
        "assistant\nassistant\n",
        "aaaaaaaa",
        "\n",
        "",
    ],
)
def test_an_answering_model_writes_its_answer_and_ends(
    answering_model: AnsweringModel, answer: str
) -> None:
    written, text = greedy(answering_model(answer), PROMPT, 500)
    assert text == answer
    assert written[-1] == Vocabulary().id(IM_END)


def test_an_answer_may_follow_a_given_start(answering_model: AnsweringModel) -> None:
    after = "<|im_start|>assistant\n```python\n"
    path = answering_model("a = 1\n```\n", after=after)
    assert greedy(path, PROMPT + "```python\n", 50)[1] == "a = 1\n```\n"
