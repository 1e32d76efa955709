"""The command `copydraft-lsp` and its arguments."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from lsprotocol import types
from pytest_lsp.client import make_test_lsp_client

from tests.fixtures.editor import COMMAND


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def free() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_a_port_that_is_in_use_is_told_in_one_line(taken: int) -> None:
    done = run("--tcp", str(taken))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"copydraft-lsp: cannot serve on port {taken}: Address already in use (name another)\n"
    )


@pytest.mark.parametrize("port", ["0", "65536", "http"])
def test_what_is_no_port_is_refused(port: str) -> None:
    done = run(f"--tcp={port}")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"copydraft-lsp: error: argument --tcp: '{port}' is no port: 1 to 65535"
    )


@pytest.fixture
def serving(free: int) -> Iterator[subprocess.Popen[bytes]]:
    """A server on that port."""
    with subprocess.Popen([*COMMAND, "--tcp", str(free)], stderr=subprocess.PIPE) as server:
        yield server
        server.kill()


async def test_over_a_port_it_serves_one_session_and_ends_with_it(
    free: int, serving: subprocess.Popen[bytes]
) -> None:
    client = make_test_lsp_client()
    while not client.protocol.writer:
        assert serving.poll() is None
        with contextlib.suppress(ConnectionRefusedError):
            await client.start_tcp("127.0.0.1", free)
    await client.initialize_session(types.InitializeParams(types.ClientCapabilities()))
    asked = types.ExecuteCommandParams("copydraft.status", [])
    status: Any = await client.workspace_execute_command_async(asked)
    assert status["documents"] == 0
    await client.shutdown_session()
    assert await asyncio.to_thread(serving.wait) == 0
    assert serving.stderr
    assert serving.stderr.read() == b""
    await client.stop()  # type: ignore[no-untyped-call]  # by pytest-lsp
    client.protocol.writer.close()
