"""Whose program is at the other end of a connection on the loopback device, or listens there.

A token in an address is in the command line of the browser that is started with it, and all users
of a machine can read that: so the one who brings a token has to be the user whom it was given to.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""All connections, as Linux lists them."""

PROCESSES = Path("/proc")

_MAPPED = "0000000000000000FFFF0000"
_LOCAL, _REMOTE, _STATE, _USER, _INODE = 1, 2, 3, 7, 9
_LISTENS = "0A"


def user_of(host: str, port: int, server_port: int) -> int | None:
    """The user whose program connected from `port` to `server_port`, both at the IPv4 `host`.

    None where the system does not tell.
    """
    address = int.from_bytes(socket.inet_aton(host), sys.byteorder)
    wanted = [f"{address:08X}:{number:04X}" for number in (port, server_port)]
    for fields in _connections():
        ends = [fields[_LOCAL], fields[_REMOTE]]
        if [end.removeprefix(_MAPPED) for end in ends] == wanted:
            return int(fields[_USER])
    return None


def listener_at(port: int) -> str:
    """The program that listens at `port`, as people would name it; "" where it is not told."""
    for fields in _connections():
        if fields[_STATE] == _LISTENS and fields[_LOCAL].endswith(f":{port:04X}"):
            user = int(fields[_USER])
            return _owner_of(fields[_INODE]) or f"a program of user {user}"
    return ""


def _owner_of(inode: str) -> str:
    """The process that has the socket of that number open, if we may look into it."""
    for process in PROCESSES.glob("[0-9]*"):
        try:
            if any(str(file.readlink()) == f"socket:[{inode}]" for file in process.glob("fd/*")):
                return f"process {process.name} ({(process / 'comm').read_text().strip()})"
        except OSError:
            continue
    return ""


def _connections() -> Iterator[list[str]]:
    for table in TABLES:
        try:
            lines = table.read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        yield from (line.split() for line in lines)
