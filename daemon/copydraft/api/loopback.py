"""A port of the loopback device, and which requests are meant for it.

Other programs and other users of the machine reach such a port too, and so does any web page that
a browser shows: what may be had there needs a secret beside what is told here.
"""

from __future__ import annotations

import errno
import socket

from starlette.requests import Request

from copydraft.api import peer
from copydraft.errors import NetworkProblem

HOST = "127.0.0.1"

_HTTP = 80
"""The port that goes without saying in addresses that begin with http."""


class LoopbackPort:
    """Listens from the start, at a free port if none is named."""

    def __init__(self, number: int = 0) -> None:
        """Raises NetworkProblem: the port is taken; or there is none, or it may not be had."""
        self.socket = _listening(number)
        self.number: int = self.socket.getsockname()[1]
        self.hosts = hosts_of(self.number)

    def is_named_by(self, request: Request) -> bool:
        """Whether the request's host is this one; a name that was rebound to it is not."""
        return request.headers.get("host", "") in self.hosts

    def is_foreign(self, request: Request) -> bool:
        """Whether a page of another origin asks."""
        ours = f"http://{request.headers.get('host', '')}"
        return any(origin != ours for origin in request.headers.getlist("origin"))


def hosts_of(number: int) -> tuple[str, ...]:
    """What may stand in the header Host of requests to port `number`, the usual form first."""
    names = (HOST, "localhost")
    full = tuple(f"{name}:{number}" for name in names)
    return names + full if number == _HTTP else full


def _listening(number: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # A port that was closed a moment ago is free; one that somebody listens at is not.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, number))
        listener.listen()
    except OSError as error:
        listener.close()
        if number and error.errno == errno.EADDRINUSE:
            raise NetworkProblem(
                f"port {number} is taken by {peer.listener_at(number) or 'another program'}",
                "end that program, or choose another port: `copydraft api on --port N`",
            ) from error
        where = f"{HOST}:{number}" if number else HOST
        raise NetworkProblem(
            f"cannot listen on {where}: {error.strerror}", "see what holds the loopback device"
        ) from error
    return listener
