"""The gate's count of requests, on which the daemon's idle exit rests."""

from __future__ import annotations

import asyncio

import pytest
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from copydraft.api import gate

SCOPE = {"type": "http", "method": "GET", "path": "/v1/status", "headers": []}


async def receive() -> Message:
    raise AssertionError("nothing is read")


async def send(_: Message) -> None:
    pass


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The gate's clock, in seconds, which the test moves on."""
    now = [1000.0]
    monkeypatch.setattr("copydraft.api.gate.monotonic", lambda: now[0])
    return now


async def test_the_daemon_is_idle_since_the_last_request_ended(clock: list[float]) -> None:
    door = gate.Gate(Response())
    clock[0] += 5
    assert door.idle_s() == 5
    await door(SCOPE, receive, send)
    clock[0] += 2
    assert door.idle_s() == 2


async def test_the_daemon_is_not_idle_while_a_request_is_open(clock: list[float]) -> None:
    end = asyncio.Event()

    async def app(_: Scope, __: Receive, ___: Send) -> None:
        await end.wait()

    door = gate.Gate(app)
    asked = asyncio.create_task(door(SCOPE, receive, send))
    await asyncio.sleep(0)
    clock[0] += 5
    assert door.idle_s() == 0
    end.set()
    await asked
    clock[0] += 1
    assert door.idle_s() == 1
