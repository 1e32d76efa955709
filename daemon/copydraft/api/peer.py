"""Whose program is at the other end of a connection on the loopback device.

A token in an address is in the command line of the browser that is started with it, and all users
of a machine can read that: so the one who brings a token has to be the user whom it was given to.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""All connections, as Linux lists them."""

_MAPPED = "0000000000000000FFFF0000"
_LOCAL, _REMOTE, _USER = 1, 2, 7


def user_of(host: str, port: int, server_port: int) -> int | None:
    """The user whose program connected from `port` to `server_port`, both at the IPv4 `host`.

    None where the system does not tell.
    """
    address = int.from_bytes(socket.inet_aton(host), sys.byteorder)
    wanted = [f"{address:08X}:{number:04X}" for number in (port, server_port)]
    for table in TABLES:
        try:
            lines = table.read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            ends = [fields[_LOCAL], fields[_REMOTE]]
            if [end.removeprefix(_MAPPED) for end in ends] == wanted:
                return int(fields[_USER])
    return None
