"""Reading the part of a prompt that is known, before anybody waits for its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copydraft.engine.batch import Feed
from copydraft.errors import Cancelled
from copydraft.protocol import Prefill, Prepared

if TYPE_CHECKING:
    from copydraft.engine.engine import Engine
    from copydraft.serving.decoding import Client


def read_ahead(tokens: list[int], engine: Engine, client: Client) -> Prepared:
    """Put `tokens` into the engine's memory, where the prompt that begins with them is then found.

    Raises:
        Cancelled: the client is; what was read by then stays.
        EngineProblem: llama.cpp failed; the engine's memory is not to be trusted any more.
    """
    memory = engine.memory
    reused = engine.reuse(tokens, len(tokens))

    def report() -> None:
        done = min(len(memory), len(tokens))
        client.emit(Prefill(done=done, total=len(tokens), reused=reused))

    report()
    while len(memory) < len(tokens):
        if client.cancelled.is_set():
            raise Cancelled("the request was cancelled")
        chunk = tokens[len(memory) : len(memory) + engine.chunk]
        engine.decode([Feed(memory.sequence, len(memory), chunk, 0)])
        memory.decoded(chunk)
        # Where a recurrent model can go back to.
        memory.checkpoint()
        report()
    return Prepared(prompt_tokens=len(tokens), reused=reused)
