"""A model's tokenizer for the index: the fast one where its family is covered, else llama.cpp's."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np

from copydraft.engine.llama import Model
from copydraft.models.tokenizer import BulkTokenizer, bulk_tokenizer, vocabulary_fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray


class OneByOne:
    """llama.cpp's tokenizer, on one core. A change of a text may change any of its tokens."""

    reach = None
    cut_at_lines = False

    def __init__(self, path: Path) -> None:
        """Load the vocabulary of a GGUF.

        Raises:
            ModelProblem: llama.cpp cannot load the file.
        """
        self.fingerprint = vocabulary_fingerprint(path)
        self._model = Model(path, vocab_only=True)
        # llama.cpp's memory is not Python's: it goes with this object, unless the process ends.
        weakref.finalize(self, self._model.close).atexit = False

    def encode_many(self, texts: Sequence[str]) -> list[NDArray[np.uint32]]:
        return [np.array(self.encode_one(text), np.uint32) for text in texts]

    def encode_one(self, text: str) -> list[int]:
        return self._model.encode(text)


def index_tokenizer(path: Path) -> BulkTokenizer | OneByOne:
    """The tokenizer of the model at `path`; `functools.partial` of it can be pickled.

    Raises:
        ModelProblem: the file cannot be read, is no GGUF, or is one that llama.cpp cannot load.
    """
    return bulk_tokenizer(path) or OneByOne(path)
