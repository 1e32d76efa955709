"""A loaded model, ready to decode: weights, context, memory, and what a pass costs here."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from copydraft.engine.batch import Feed
from copydraft.engine.cost import Calibration, calibrate
from copydraft.engine.llama import MAX_ROWS, Context, Model
from copydraft.engine.memory import SequenceMemory
from copydraft.engine.prefix_cache import PrefixCache
from copydraft.engine.sampling import Greedy, Picker, Sampled
from copydraft.errors import Cancelled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from copydraft.protocol import Sampling

SNAPSHOTS = 15
"""States kept for rollback in recurrent and hybrid models; each costs the whole state."""

_CPU_CHUNK = 256
_GPU_CHUNK = 512

_SAMPLE = '''def parse(lines: list[str]) -> dict[str, int]:
    """Count the words of a text, line by line."""
    counts: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        for word in line.strip().split():
            counts[word] = counts.get(word, 0) + 1
        if number % 1000 == 0:
            print(f"read {number} lines, {len(counts)} words so far")
    return counts


class Reader:
    def __init__(self, path: str, encoding: str = "utf-8") -> None:
        self.path = path
        self.encoding = encoding
'''


class Engine:
    """The sole user of a model. One thread owns it, except for `abort`."""

    def __init__(
        self,
        path: Path,
        *,
        context: int,
        threads: int,
        gpu_layers: int = -1,
        prefix_bytes: int = 0,
        progress: Callable[[float], bool] | None = None,
    ) -> None:
        """Load a GGUF with memory for `context` tokens, and keep prompts of up to `prefix_bytes`.

        `progress` gets the share of the weights read, from 0 to 1; its answer False stops.

        Raises:
            ModelProblem, OutOfMemory, Cancelled: see `Model` and `Context`.
        """
        self.model = Model(path, gpu_layers=gpu_layers, progress=progress)
        try:
            self._context = Context(
                self.model,
                size=min(context, self.model.trained_context),
                threads=threads,
                snapshots=SNAPSHOTS,
            )
        except BaseException:
            self.model.close()
            raise
        self.memory = SequenceMemory(self._context, 0)
        self._prefixes = PrefixCache(self.memory, prefix_bytes)
        self.chunk = _GPU_CHUNK if self.model.on_gpu else _CPU_CHUNK

    @property
    def context_size(self) -> int:
        return self._context.size

    def picker(self, sampling: Sampling) -> Picker:
        if sampling.temperature <= 0:
            return Greedy()
        return Sampled(sampling)

    def decode(self, feeds: Sequence[Feed]) -> None:
        """One pass; see `Context.decode`. After an abort, memory is as it was or shorter."""
        try:
            self._context.decode(feeds)
        except Cancelled:
            self.memory.recover()
            raise

    def reuse(self, tokens: Sequence[int], most: int) -> int:
        """Have the start of `tokens` in memory, at most `most`; how many there are.

        What stands behind them goes, unless all of `tokens` are there.
        """
        self._prefixes.seek(tokens)
        reusable = min(self.memory.common_prefix(tokens), most)
        return reusable if reusable == len(tokens) else self.memory.rollback(reusable)

    def logits(self, row: int) -> NDArray[np.float32]:
        return self._context.logits(row)

    def abort(self) -> None:
        """Stop the pass that runs on a CPU, from any thread; `resume` allows passes again."""
        self._context.abort()

    def resume(self) -> None:
        self._context.resume()

    def widest_draft(self, wished: int) -> int:
        """Most drafted tokens in a pass such that all of them can be taken back."""
        limit = self._context.rollback_limit
        return min(wished, MAX_ROWS - 1, *([] if limit is None else [limit]))

    def calibrate(self, widest: int, go_on: Callable[[], bool]) -> Calibration:
        """Measure passes of width 1 … `widest`; the memory is empty afterwards.

        Raises:
            Cancelled: `go_on`, asked before every pass, said no.
        """
        sample = self.model.encode(_SAMPLE)
        base, tokens = sample[:64], (sample * 2)[64 : 64 + widest]
        memory = self.memory
        memory.clear()

        def run(tokens: Sequence[int], rows: int) -> None:
            if not go_on():
                raise Cancelled("measuring the model was cancelled")
            self.decode([Feed(memory.sequence, len(memory), tokens, rows)])
            memory.decoded(tokens)

        def rewind() -> None:
            if memory.rollback(len(base)) < len(base):
                run(base[len(memory) :], 1)

        def top_logits(
            row: int, ids: Sequence[int] | None
        ) -> tuple[Sequence[int], Sequence[float]]:
            logits = self.logits(row)
            chosen = np.argpartition(logits, -8)[-8:] if ids is None else np.asarray(ids)
            return [int(i) for i in chosen], [float(x) for x in logits[chosen]]

        run(base, 1)
        memory.checkpoint()
        try:
            return calibrate(tokens, lambda t: run(t, len(t)), top_logits, rewind, widest)
        finally:
            memory.clear()

    def close(self) -> None:
        """Free all memory of the model, the card's too, and give it back to the system."""
        self._prefixes.clear()
        self._context.close()
        self.model.close()
        # glibc alone would keep what was freed in small pieces.
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
            trim(0)
