"""Many requests to one daemon, some cancelled half-way: its memory must not grow.

Prints the daemon's resident memory without a model, the most of it in the first and in the second
half of the requests, and exits with 1 if it grew: kept prompts come and go. Regions, kinds and
cancels are drawn from the seed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
from contextlib import aclosing
from pathlib import Path

from copydraft.client import Client
from copydraft.errors import AnswerRefused
from copydraft.models import library
from copydraft.protocol import Delta, EditRequest, ExplainRequest, Generation, Region

FILES = sorted((Path(__file__).parent.parent / "daemon").rglob("*.py"))
EVERY = 10
"""Requests between two looks at the memory."""
MOST_GROWTH = 0.05


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
    async with await Client.connect() as client:
        try:
            empty = await resident_mb(client)
            halves = [0.0, 0.0]
            for number in range(1, requests + 1):
                await one(client, model, chance)
                if number % EVERY == 0:
                    half = int(2 * number > requests)
                    halves[half] = max(halves[half], now := await resident_mb(client))
                    print(f"{number} requests: {now:.1f} MB", flush=True)
            await client.unload()
            unloaded = await resident_mb(client)
        finally:
            await client.stop()
    return {
        "without_model_mb": empty,
        "first_half_mb": halves[0],
        "second_half_mb": halves[1],
        "unloaded_mb": unloaded,
    }


async def resident_mb(client: Client) -> float:
    return (await client.status()).resident_bytes / 1e6


def grew(measured: dict[str, float]) -> bool:
    return measured["second_half_mb"] > measured["first_half_mb"] * (1 + MOST_GROWTH)


def main() -> None:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.requests < 2 * EVERY:
        parser.error(f"its halves are to be compared: --requests has to be {2 * EVERY} or more")
    model = str(library.resolve(arguments.model))
    with tempfile.TemporaryDirectory() as scratch:
        # A daemon of its own: the user's holds another model.
        os.environ["XDG_RUNTIME_DIR"] = os.environ["XDG_STATE_HOME"] = scratch
        measured = asyncio.run(soak(model, arguments.requests, arguments.seed))
    print(json.dumps(measured))
    if grew(measured):
        sys.exit(f"memory grew by more than {MOST_GROWTH:.0%} in the second half")


if __name__ == "__main__":
    main()
