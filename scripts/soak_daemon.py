"""Many requests to one daemon, some cancelled half-way: its memory must not grow.

Prints the daemon's resident memory without a model, after the first twenty requests and at the
end. Regions, kinds and cancels are drawn from the seed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import tempfile
from contextlib import aclosing
from pathlib import Path

from copydraft.client import Client
from copydraft.errors import AnswerRefused
from copydraft.models import library
from copydraft.protocol import Delta, EditRequest, ExplainRequest, Generation, Region

FILES = sorted((Path(__file__).parent.parent / "daemon").rglob("*.py"))
SETTLED = 20
"""Requests until caches and buffers have reached their size."""


async def one(client: Client, model: str, chance: random.Random) -> None:
    """A short edit or explanation of a random region, cancelled at its first text now and then."""
    file = chance.choice(FILES)
    text = file.read_text("utf-8")
    lines = text.count("\n")
    start = chance.randrange(max(1, lines - 20))
    region = Region(path=file.name, text=text, start=start, end=min(lines, start + 20))
    generation = Generation(model=model, max_tokens=48)
    if chance.random() < 0.5:
        call = client.edit(
            EditRequest(region=region, instruction="Simplify.", generation=generation)
        )
    else:
        call = client.explain(ExplainRequest(region=region, generation=generation))
    cancel = chance.random() < 0.2
    async with aclosing(call) as events:
        try:
            async for event in events:
                if cancel and isinstance(event, Delta):
                    return
        except AnswerRefused:
            pass  # forty-eight tokens are seldom a whole edit


async def soak(model: str, requests: int, seed: int) -> dict[str, float]:
    chance = random.Random(seed)
    resident: dict[int, int] = {}
    async with await Client.connect() as client:
        empty = (await client.status()).resident_bytes
        for number in range(1, requests + 1):
            await one(client, model, chance)
            if number % SETTLED == 0:
                resident[number] = (await client.status()).resident_bytes
                print(f"{number} requests: {resident[number] / 1e6:.1f} MB")
        await client.unload()
        unloaded = (await client.status()).resident_bytes
        await client.stop()
    return {
        "without_model_mb": empty / 1e6,
        "settled_mb": resident[SETTLED] / 1e6,
        "end_mb": resident[max(resident)] / 1e6,
        "unloaded_mb": unloaded / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    model = str(library.resolve(arguments.model))
    with tempfile.TemporaryDirectory() as scratch:
        # A daemon of its own: the user's holds another model.
        os.environ["XDG_RUNTIME_DIR"] = os.environ["XDG_STATE_HOME"] = scratch
        print(json.dumps(asyncio.run(soak(model, arguments.requests, arguments.seed))))


if __name__ == "__main__":
    main()
