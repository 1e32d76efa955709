"""Whose program is at the other end of a connection on the loopback device."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from copydraft.api import peer

# As Linux writes it on a machine whose numbers begin with their lowest byte.
TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 101 1
   1: 0100007F:1F90 0100007F:8F1B 01 00000000:00000000 00:00000000 00000000  1000        0 102 1
   2: 0100007F:8F1B 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 103 1
"""
TABLE_6 = """\
  sl  local_address                         remote_address                        st tx_queue ...
   0: 0000000000000000FFFF00000100007F:8F1C 0000000000000000FFFF00000100007F:1F90 01 0:0 0:0 0  1002
"""


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"tcp": TABLE, "tcp6": TABLE_6}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(peer, "TABLES", (tmp_path / "tcp", tmp_path / "tcp6", tmp_path / "none"))
    monkeypatch.setattr("sys.byteorder", "little")


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("client", "server", "user"),
    [(0x8F1B, 0x1F90, 1001), (0x8F1C, 0x1F90, 1002), (0x1F90, 0x8F1B, 1000), (1, 0x1F90, None)],
)
def test_the_user_is_the_one_of_the_clients_end(client: int, server: int, user: int | None) -> None:
    assert peer.user_of("127.0.0.1", client, server) == user


def test_a_connection_of_ours_is_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert peer.user_of("127.0.0.1", client.getsockname()[1], port) == os.getuid()


@pytest.mark.usefixtures("tables")
def test_who_listens_is_a_process_where_we_may_look_into_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "PROCESSES", tmp_path / "proc")
    assert peer.listener_at(0x1F90) == "a program of user 1000"
    assert peer.listener_at(0x8F1B) == ""
    for number, name, inode in (("7", "sh", "9"), ("42", "node", "101")):
        files = tmp_path / "proc" / number / "fd"
        files.mkdir(parents=True)
        (files / "3").symlink_to(f"socket:[{inode}]")
        (files.parent / "comm").write_text(f"{name}\n")
    assert peer.listener_at(0x1F90) == "process 42 (node)"


def test_a_listener_of_ours_is_this_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert peer.listener_at(port).startswith(f"process {os.getpid()} (")
