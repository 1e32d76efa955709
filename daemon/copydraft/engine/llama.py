"""llama.cpp, behind the few operations that the engine needs: weights, context and passes.

The low-level API is used throughout: the high-level `Llama` keeps scores for the whole context and
ignores rollbacks that failed. All of it belongs to one thread, except `Context.abort`. Nobody else
imports `llama_cpp`, save `vocabulary` beside it.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import llama_cpp
import numpy as np

from copydraft.engine.batch import MAX_BATCH, Batch, Feed
from copydraft.engine.vocabulary import Vocabulary
from copydraft.errors import Cancelled, EngineProblem, ModelProblem, OutOfMemory

if TYPE_CHECKING:
    from numpy.typing import NDArray


BUILD = f"llama-cpp-python {llama_cpp.__version__}, settings 2"
"""What the cost of a pass depends on beside the machine; counts up when `Context` changes."""

MAX_ROWS = 128
"""Most rows of logits in one pass."""

_log = logging.getLogger(__name__)


_CONTEXT_STEP = 256
"""A context has a multiple of so many tokens."""

_CARD, _INTEGRATED = 1, 2


class Device(NamedTuple):
    """A device that this build of llama.cpp sees; `kind` is ggml's, a CPU being 0."""

    kind: int
    name: str
    description: str


def can_offload() -> bool:
    """Whether this build sees a card that layers can be put on."""
    return bool(llama_cpp.llama_supports_gpu_offload())


def devices() -> list[Device]:
    """All devices, in llama.cpp's order of preference."""
    library = llama_cpp.llama_cpp._lib  # ggml has no binding of its own
    for function, kind in (
        (library.ggml_backend_dev_get, ctypes.c_void_p),
        (library.ggml_backend_dev_name, ctypes.c_char_p),
        (library.ggml_backend_dev_description, ctypes.c_char_p),
    ):
        function.restype = kind
    library.ggml_backend_dev_count.restype = ctypes.c_size_t
    found = []
    for index in range(library.ggml_backend_dev_count()):
        device = ctypes.c_void_p(library.ggml_backend_dev_get(ctypes.c_size_t(index)))
        found.append(
            Device(
                library.ggml_backend_dev_type(device),
                library.ggml_backend_dev_name(device).decode(),
                library.ggml_backend_dev_description(device).decode(),
            )
        )
    return found


class Model(Vocabulary):
    """Weights and vocabulary."""

    def __init__(
        self,
        path: Path,
        *,
        gpu_layers: int = -1,
        vocab_only: bool = False,
        progress: Callable[[float], bool] | None = None,
    ) -> None:
        """Load the weights of a GGUF, or with `vocab_only` nothing but its tokenizer.

        `progress` gets shares from 0 to 1; its answer False stops the load.

        Raises:
            ModelProblem: llama.cpp cannot load the file.
            OutOfMemory: it gets no memory for the weights.
            Cancelled: `progress` said so.
        """
        _route_logs()
        llama_cpp.llama_backend_init()
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = gpu_layers if gpu_layers >= 0 else 999
        params.vocab_only = vocab_only
        stopped = False

        def report(share: float, _data: object) -> bool:
            nonlocal stopped
            stopped = progress is not None and not progress(share)
            return not stopped

        callback = llama_cpp.llama_progress_callback(report)
        params.progress_callback = callback
        _errors.clear()
        self._model: Any = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
        if not self._model:
            if stopped:
                raise Cancelled("loading the model was cancelled")
            if any("unable to allocate" in error for error in _errors):
                raise OutOfMemory(
                    f"no room for the weights of {path}: {_reason()}",
                    "end other programs, choose a smaller model, or set fewer `gpu_layers`",
                )
            raise ModelProblem(
                f"llama.cpp cannot load {path}: {_reason()}",
                "see `copydraft daemon logs`; pull the model again or choose another",
            )
        super().__init__(llama_cpp.llama_model_get_vocab(self._model))
        self.on_gpu = can_offload() and gpu_layers != 0
        self.keeps_state = bool(
            llama_cpp.llama_model_is_recurrent(self._model)
            or llama_cpp.llama_model_is_hybrid(self._model)
        )
        """Recurrent or hybrid: memory that cannot simply be cut back."""

    @property
    def handle(self) -> Any:
        return self._model

    @cached_property
    def device(self) -> str:
        """The device that the weights are on, as its driver names it."""
        # llama.cpp takes an integrated card only where there is no other.
        cards = sorted(device for device in devices() if device.kind in (_CARD, _INTEGRATED))
        return cards[0].description if self.on_gpu and cards else "CPU"

    @property
    def trained_context(self) -> int:
        return int(llama_cpp.llama_model_n_ctx_train(self._model))

    def close(self) -> None:
        llama_cpp.llama_model_free(self._model)
        self._model = None


class Context:
    """Memory for `sequences` sequences over one model, and the passes that fill it.

    The key-value cache of sliding-window models is kept whole (`swa_full`): every rollback is
    exact then. Recurrent models get `snapshots` states to roll back to, where they can.
    """

    def __init__(
        self, model: Model, *, size: int, sequences: int = 1, threads: int, snapshots: int = 0
    ) -> None:
        """Make a context of `size` tokens, or somewhat more.

        Raises:
            OutOfMemory: the device has no room for it.
        """
        params = llama_cpp.llama_context_default_params()
        # llama.cpp would do the same, but take passes of `size` at most, and abort at a wider one.
        params.n_ctx = -(-size // _CONTEXT_STEP) * _CONTEXT_STEP
        params.n_batch = params.n_ubatch = MAX_BATCH
        params.n_outputs_max = params.n_outputs_max_per_seq = MAX_ROWS
        params.n_seq_max = sequences
        params.n_rs_seq = snapshots if model.keeps_state else 0
        params.n_threads = params.n_threads_batch = threads
        if not model.on_gpu:
            # Tried on two cores at 1,500 tokens of context: passes of 16 and 32 take a third less
            # time without, single tokens a tenth, and the prompt as long as with it.
            params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.swa_full = True
        params.kv_unified = True
        params.no_perf = True
        # llama.cpp asks "abort?" between operations, on a CPU only. strlen answers without
        # touching Python: 0 while the flag is an empty string, 1 once a byte stands in it.
        self._abort_flag = ctypes.create_string_buffer(2)
        if not model.on_gpu:
            strlen = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value
            params.abort_callback = llama_cpp.ggml_abort_callback(strlen)
            params.abort_callback_data = ctypes.addressof(self._abort_flag)
        _errors.clear()
        self._context: Any = llama_cpp.llama_init_from_model(model.handle, params)
        if not self._context:
            raise OutOfMemory(
                f"no room for a context of {size} tokens: {_reason()}",
                "set a smaller `context`, or fewer `gpu_layers`",
            )
        self._model = model
        self._memory: Any = llama_cpp.llama_get_memory(self._context)
        self._batch = Batch(MAX_BATCH)
        self._struct = _struct(self._batch)

    @property
    def size(self) -> int:
        return int(llama_cpp.llama_n_ctx(self._context))

    @property
    def rollback_limit(self) -> int | None:
        """Most tokens that llama.cpp itself can take back; None: any number."""
        if not self._model.keeps_state:
            return None
        return int(llama_cpp.llama_n_rs_seq(self._context))

    @property
    def saves_all(self) -> bool:
        """Whether a saved state has all tokens: of windows it has those that the next one sees."""
        return int(llama_cpp.llama_model_n_swa(self._model.handle)) == 0

    def close(self) -> None:
        _aborted.clear()
        llama_cpp.llama_free(self._context)
        self._context = None

    def decode(self, feeds: Sequence[Feed]) -> None:
        """One pass over all feeds; rows of logits stand in the order of the feeds.

        Raises:
            Cancelled: `abort` was called; memory beyond the feeds' positions is undefined.
            EngineProblem: llama.cpp refused or failed.
        """
        _errors.clear()
        self._struct.n_tokens = self._batch.fill(feeds)
        code = llama_cpp.llama_decode(self._context, self._struct)
        if code == 0:
            llama_cpp.llama_synchronize(self._context)
        elif code == 2:
            raise Cancelled("the pass was aborted")
        else:
            raise EngineProblem(
                f"llama.cpp failed to decode (code {code}): {_reason()}",
                "run it again; if it stays, try another model and see `copydraft daemon logs`",
            )

    def abort(self) -> None:
        """Stop a running pass (CPU) and refuse further ones, until `resume`. From any thread."""
        _aborted.set()
        self._abort_flag[0] = b"\x01"

    def resume(self) -> None:
        self._abort_flag[0] = b"\x00"
        _aborted.clear()

    def logits(self, row: int) -> NDArray[np.float32]:
        """View of one row of the last pass, of the size of the vocabulary; valid until the next."""
        # Rows are numbered by position in the batch, of which only the asked-for ones exist.
        pointer = llama_cpp.llama_get_logits_ith(self._context, self._batch.row_positions[row])
        return np.ctypeslib.as_array(pointer, (self._model.vocab_size,))

    # --- memory: use engine.memory, which knows when these are to be believed ------------------

    def remove(self, sequence: int, start: int) -> bool:
        return bool(llama_cpp.llama_memory_seq_rm(self._memory, sequence, start, -1))

    def state_bytes(self, sequence: int, *, whole: bool = False) -> int:
        """Size of what `save_state` gives."""
        flags = _state_flags(whole=whole)
        return int(llama_cpp.llama_state_seq_get_size_ext(self._context, sequence, flags))

    def save_state(self, sequence: int, *, whole: bool = False) -> bytearray:
        """The recurrent part of a sequence's memory, or all of it."""
        # It may be a gigabyte: nothing is copied on the way.
        state = bytearray(self.state_bytes(sequence, whole=whole))
        written = llama_cpp.llama_state_seq_get_data_ext(
            self._context, _bytes_in(state), len(state), sequence, _state_flags(whole=whole)
        )
        del state[written:]
        return state

    def load_state(self, sequence: int, state: bytearray, *, whole: bool = False) -> bool:
        """Back to what was saved; False if llama.cpp refuses."""
        read = llama_cpp.llama_state_seq_set_data_ext(
            self._context, _bytes_in(state), len(state), sequence, _state_flags(whole=whole)
        )
        return bool(read == len(state))


def _bytes_in(state: bytearray) -> ctypes.Array[ctypes.c_uint8]:
    """The same memory, as llama.cpp takes it."""
    return (ctypes.c_uint8 * len(state)).from_buffer(state)


def _state_flags(*, whole: bool) -> int:
    return 0 if whole else int(llama_cpp.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY)


def _struct(batch: Batch) -> Any:
    """llama.cpp's view of the arrays; it must not outlive them."""

    def pointer(array: NDArray[Any], kind: Any) -> Any:
        return array.ctypes.data_as(ctypes.POINTER(kind))

    return llama_cpp.llama_batch(
        n_tokens=0,
        token=pointer(batch.tokens, ctypes.c_int32),
        embd=None,
        pos=pointer(batch.positions, ctypes.c_int32),
        n_seq_id=pointer(batch.sequence_counts, ctypes.c_int32),
        seq_id=pointer(batch.sequence_pointers, ctypes.POINTER(ctypes.c_int32)),
        logits=pointer(batch.wanted, ctypes.c_int8),
    )


# --- logs -------------------------------------------------------------------------------------

_LEVELS = {2: logging.DEBUG, 3: logging.WARNING, 4: logging.ERROR}  # info is llama.cpp's chatter
_errors: list[str] = []
_aborted = threading.Event()
"""llama.cpp takes an aborted pass for a failed one."""


def _reason() -> str:
    """llama.cpp's first words on what failed; those after it only say that something did."""
    return _errors[0] if _errors else "no reason given"


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]  # a ctypes callback
def _log_callback(level: int, text: bytes, _data: object) -> None:
    message = text.decode("utf-8", "replace").strip()
    if message:
        weight = logging.DEBUG if _aborted.is_set() else _LEVELS.get(level, logging.DEBUG)
        _log.log(weight, "%s", message)
        if level == 4:
            _errors.append(message)


def _route_logs() -> None:
    llama_cpp.llama_log_set(_log_callback, None)
