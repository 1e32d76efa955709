"""Daemons and clients for the integration tests."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from copydraft import launch, paths
from copydraft.api import lifecycle
from copydraft.client import Client
from copydraft.engine.cost import Costs
from tests.fixtures.daemons import FAKE_DAEMON, Running, running
from tests.fixtures.openai_api import over_socket


@pytest.fixture(autouse=True)
def runtime_dir(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path: a socket's may have about a hundred bytes."""
    path = Path(tempfile.mkdtemp(prefix="copydraft-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(path))
    yield path
    shutil.rmtree(path)


@pytest.fixture(autouse=True)
def steady_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What passes of a tiny model take on a busy machine is no reason to draft otherwise."""
    monkeypatch.setattr(Costs, "learn", lambda *_: None)


@pytest.fixture
async def daemon() -> AsyncIterator[Running]:
    async with running() as here:
        yield here


@pytest.fixture
async def client(daemon: Running) -> AsyncIterator[Client]:
    async with await Client.connect(start=False) as connected:
        yield connected


@pytest.fixture
def fake_command(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clients start the fake daemon; one that is left over is ended."""
    monkeypatch.setattr(launch, "COMMAND", FAKE_DAEMON)
    yield
    holder = lifecycle.holder()
    if holder and lifecycle.is_held(paths.lock_path()):
        os.kill(holder.pid, signal.SIGKILL)
        while lifecycle.is_held(paths.lock_path()):
            pass


@pytest.fixture
async def http(daemon: Running) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the daemon's socket that speaks OpenAI's API."""
    async with over_socket() as client:
        yield client
