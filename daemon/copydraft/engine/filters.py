"""Which tokens may be drawn: llama.cpp's own samplers, applied to one row of logits."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import llama_cpp
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from copydraft.protocol import Sampling


class Filter:
    """llama.cpp's top-k, top-p, min-p and temperature, in this order."""

    def __init__(self, sampling: Sampling, vocab_size: int) -> None:
        self._candidates = np.zeros(
            vocab_size, dtype=[("id", np.int32), ("logit", np.float32), ("p", np.float32)]
        )
        self._chain = llama_cpp.llama_sampler_chain_init(
            llama_cpp.llama_sampler_chain_default_params()
        )
        for link in (
            llama_cpp.llama_sampler_init_top_k(sampling.top_k),
            llama_cpp.llama_sampler_init_top_p(sampling.top_p, 1),
            llama_cpp.llama_sampler_init_min_p(sampling.min_p, 1),
            llama_cpp.llama_sampler_init_temp(sampling.temperature),
        ):
            llama_cpp.llama_sampler_chain_add(self._chain, link)

    def __call__(
        self, logits: NDArray[np.float32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The ids that may be drawn and their probabilities, likeliest first.

        `logits` has one float per token of the vocabulary.
        """
        data = self._candidates
        data["id"] = np.arange(len(data), dtype=np.int32)
        data["logit"] = logits
        array = llama_cpp.llama_token_data_array(
            data=data.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data)),
            size=len(data),
            selected=-1,
            sorted=False,
        )
        llama_cpp.llama_sampler_apply(self._chain, ctypes.byref(array))
        left = data[: array.size]
        order = np.argsort(-left["logit"], kind="stable")
        weights = np.exp(left["logit"][order].astype(np.float64) - float(left["logit"].max()))
        return left["id"][order].copy(), weights / weights.sum()

    def __del__(self) -> None:
        llama_cpp.llama_sampler_free(self._chain)
