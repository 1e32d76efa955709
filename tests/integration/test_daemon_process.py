"""Daemons as processes of their own: started by clients, killed, replaced."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from copydraft import __version__, launch, paths
from copydraft import client as client_module
from copydraft.api import lifecycle
from copydraft.client import Client
from copydraft.errors import Cancelled, DaemonUnavailable, DiskProblem, VersionMismatch
from copydraft.protocol import Delta, Event
from tests.fixtures.daemons import FAKE_DAEMON, daemon_process, edit

REAL_DAEMON = launch.COMMAND

pytestmark = pytest.mark.usefixtures("fake_command")


async def answer(client: Client, instruction: str) -> list[Event]:
    return [event async for event in client.edit(edit(instruction))]


async def holding(client: Client) -> asyncio.Task[list[Event]]:
    """A request that is being answered and will not end by itself."""
    begun = asyncio.Event()

    async def ask() -> list[Event]:
        async for event in client.edit(edit("hold")):
            if isinstance(event, Delta):
                begun.set()
        return []

    asked = asyncio.create_task(ask())
    await begun.wait()
    return asked


async def test_five_clients_at_once_start_one_daemon() -> None:
    clients = await asyncio.gather(*(Client.connect() for _ in range(5)))
    pids = {(await client.status()).pid for client in clients}
    assert pids == {lifecycle.holder().pid}  # type: ignore[union-attr]  # it answered just now
    for client in clients:
        assert len(await answer(client, "echo a")) == 3
        await client.close()


async def test_a_killed_daemon_is_noticed_and_the_next_command_works() -> None:
    async with await Client.connect() as client:
        asked = await holding(client)
        first = (await client.status()).pid
        os.kill(first, signal.SIGKILL)
        with pytest.raises(DaemonUnavailable, match="went away while it wrote the answer"):
            await asked
    async with await Client.connect() as client:
        assert (await client.status()).pid != first
        assert len(await answer(client, "echo a")) == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_tells_requests_in_flight_and_ends_cleanly(number: signal.Signals) -> None:
    with daemon_process() as process:
        async with await Client.connect() as client:
            asked = await holding(client)
            process.send_signal(number)
            with pytest.raises(Cancelled, match="the daemon is stopping"):
                await asked
        assert await asyncio.to_thread(process.wait) == 0
    assert not paths.socket_path().exists()


async def test_a_second_process_fails_and_names_the_first() -> None:
    with daemon_process() as process:
        second = subprocess.run(FAKE_DAEMON, check=False, capture_output=True, text=True)
        assert second.returncode == DaemonUnavailable.exit_status
        assert second.stderr == (
            f"a copydraft daemon is running already: process {process.pid}, version {__version__}"
        )


async def test_stop_returns_when_the_process_is_gone() -> None:
    with daemon_process() as process:
        async with await Client.connect() as client:
            await client.stop()
        assert process.wait() == 0


async def test_an_idle_daemon_of_another_version_is_replaced() -> None:
    told: list[str] = []
    with daemon_process("0.0.1", "0") as old:
        async with await Client.connect(notice=told.append) as client:
            assert (await client.status()).version == __version__
        assert old.wait() == 0
    assert told == [f"replaced the daemon of version 0.0.1 by {__version__}"]


async def test_a_busy_daemon_of_another_protocol_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with daemon_process("9.0", "99"):
        with monkeypatch.context() as newer:
            newer.setattr(client_module, "PROTOCOL_VERSION", 99)
            theirs = await Client.connect(start=False)
        asked = await holding(theirs)
        with pytest.raises(VersionMismatch, match="the daemon version 99"):
            await Client.connect()
        asked.cancel()
        await theirs.close()


async def test_a_busy_daemon_of_another_version_and_our_protocol_is_used() -> None:
    with daemon_process("0.0.1") as old:
        async with await Client.connect(start=False) as first:
            asked = await holding(first)
            async with await Client.connect() as client:
                assert (await client.status()).pid == old.pid
            asked.cancel()


async def test_a_daemon_that_another_protocol_speaks_can_be_stopped() -> None:
    with daemon_process("9.0", "99") as process:
        async with await Client.connect(start=False) as client:
            with pytest.raises(VersionMismatch, match="the daemon version 99"):
                await client.status()
            await client.stop()
        assert process.wait() == 0


async def test_a_client_waits_for_a_stopping_daemon_and_starts_the_next() -> None:
    with daemon_process() as process:
        process.send_signal(signal.SIGTERM)
        async with await Client.connect() as client:
            assert (await client.status()).pid != process.pid


async def test_a_daemon_that_dies_at_its_start_is_reported_with_its_last_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = "import sys; print('line one', flush=True); sys.exit('no such device')"
    monkeypatch.setattr(launch, "COMMAND", (sys.executable, "-c", program))
    with pytest.raises(DaemonUnavailable) as caught:
        await Client.connect()
    assert caught.value.message == (
        "the daemon ended while it started (status 1)\n  line one\n  no such device"
    )
    assert str(paths.error_output_file()) in caught.value.hint


async def test_a_daemon_outlives_the_client_that_started_it(isolated_home: Path) -> None:
    program = f"""
import asyncio
from copydraft import client, launch
launch.COMMAND = {FAKE_DAEMON!r}
asyncio.run(client.Client.connect())
"""
    await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], check=True, cwd=isolated_home
    )
    async with await Client.connect(start=False) as client:
        pid = (await client.status()).pid
        assert os.getsid(pid) == pid
        assert Path(f"/proc/{pid}/cwd").resolve() == Path("/")


async def test_a_daemon_serves_where_its_state_cannot_be_written(isolated_home: Path) -> None:
    # A file in the way stops root as well.
    (isolated_home / ".local" / "state").rmdir()
    (isolated_home / ".local" / "state").write_text("")
    async with await Client.connect() as client:
        assert len(await answer(client, "echo a")) == 3
        with pytest.raises(DiskProblem, match="cannot make") as refused:
            await client.stats()
        assert refused.value.hint == "mend the permissions there, or free some space"


async def test_the_real_daemon_without_a_model_takes_under_150_mb(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launch, "COMMAND", REAL_DAEMON)
    async with await Client.connect() as client:
        status = await client.status()
        assert status.model is None
        assert status.resident_bytes < 150_000_000
        await client.stop()


async def test_neither_prompt_nor_answer_is_logged() -> None:
    with daemon_process():
        async with await Client.connect() as client:
            await answer(client, "echo secret")
            await client.stop()
    log = paths.log_file().read_text()
    assert "EditRequest ended after" in log
    assert "secret" not in log
