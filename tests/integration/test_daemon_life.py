"""How the daemon ends and what it lets go of, in the test's own event loop."""

from __future__ import annotations

import asyncio
import os
import stat
from contextlib import aclosing

import pytest

from copydraft import launch, paths
from copydraft.api import lifecycle, server
from copydraft.client import Client
from copydraft.errors import Cancelled, DaemonUnavailable
from copydraft.protocol import Delta, Event
from tests.fixtures.daemons import Running, edit, running, until
from tests.fixtures.fake_service import MODEL


async def answer(client: Client, instruction: str) -> list[Event]:
    return [event async for event in client.edit(edit(instruction))]


async def test_the_socket_and_its_directory_are_the_users_alone(daemon: Running) -> None:
    socket = paths.socket_path()
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700


async def test_a_second_daemon_is_told_who_holds_the_place(daemon: Running) -> None:
    with (
        pytest.raises(DaemonUnavailable, match=f"process {os.getpid()}, version 0.1.0") as caught,
        lifecycle.place(),
    ):
        pass
    assert caught.value.hint == "use it, or end it with `copydraft daemon stop`"
    assert paths.socket_path().exists()


async def test_stopping_ends_running_and_queued_requests_with_the_reason(daemon: Running) -> None:
    async with await Client.connect(start=False) as client:
        asked = [asyncio.create_task(answer(client, "hold")) for _ in range(3)]
        await until(lambda: daemon.service.snapshot().waiting == 2)
        daemon.daemon.stop()
        for task in asked:
            with pytest.raises(Cancelled, match="the daemon is stopping"):
                await task
    assert await daemon.serving is True


async def test_a_service_that_hangs_cannot_keep_clients_waiting(
    daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "STOP_GRACE_S", 0.05)
    daemon.service.deaf = True
    async with await Client.connect(start=False) as client:
        asked = asyncio.create_task(answer(client, "hold"))
        await until(lambda: daemon.service.snapshot().active == 1)
        daemon.daemon.stop()
        with pytest.raises(Cancelled, match="the daemon is stopping"):
            await asked
    assert await daemon.serving is False
    daemon.service.deaf = False


async def test_requests_to_a_stopping_daemon_are_refused(
    daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "STOP_GRACE_S", 60.0)
    daemon.service.deaf = True
    async with await Client.connect(start=False) as client:
        daemon.daemon.stop()
        with pytest.raises(DaemonUnavailable, match="the daemon is stopping"):
            await answer(client, "echo late")
    daemon.service.deaf = False


async def test_stop_returns_when_the_place_is_free() -> None:
    async with running() as here, await Client.connect(start=False) as client:
        stopping = asyncio.create_task(client.stop())
        await here.serving
        assert not stopping.done()
    await stopping


async def test_the_model_leaves_memory_when_no_request_comes() -> None:
    async with running(idle_unload_minutes=0.001) as here:
        await until(lambda: here.service.model is None)


async def test_a_running_request_keeps_the_model() -> None:
    async with (
        running(idle_unload_minutes=0.001) as here,
        await Client.connect(start=False) as client,
        aclosing(client.edit(edit("hold"))) as events,
    ):
        while not isinstance(await anext(events), Delta):
            pass
        here.service.model = MODEL
        await asyncio.sleep(0.2)
        assert here.service.model is MODEL


async def test_the_daemon_exits_when_no_client_comes() -> None:
    async with running(idle_exit_minutes=0.001) as here:
        assert await here.serving is True
    assert not paths.socket_path().exists()


async def test_connecting_without_a_daemon_says_how_to_start_one() -> None:
    with pytest.raises(DaemonUnavailable, match="no daemon is running") as caught:
        await Client.connect(start=False)
    assert caught.value.hint == "`copydraft daemon start` starts one"


async def test_a_daemon_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_ANSWER_LIMIT_S", 0.05)
    with lifecycle.place(), pytest.raises(DaemonUnavailable, match=f"process {os.getpid()}"):
        await Client.connect()
