"""`copydraft.cancel` and `copydraft.status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from lsprotocol import types

from copydraft import __version__
from copydraft.client import Client
from copydraft.errors import CopydraftError
from copydraft.protocol import PROTOCOL_VERSION
from copydraft_lsp.faults import argument, one_line

if TYPE_CHECKING:
    from copydraft_lsp.server import CopydraftServer

CANCEL = "copydraft.cancel"
STATUS = "copydraft.status"


class CancelArguments(msgspec.Struct, frozen=True):
    """The argument of `copydraft.cancel`, which may be left out."""

    id: str = ""
    """The request's id; "": all of this editor's."""


def register(server: CopydraftServer) -> None:
    @server.command(CANCEL)
    async def cancel(arguments: list[Any] | None, _: types.ProgressToken | None) -> dict[str, Any]:
        return {"cancelled": server.jobs.cancel(argument(arguments, CancelArguments).id)}

    @server.command(STATUS)
    async def status(_: list[Any] | None, __: types.ProgressToken | None) -> dict[str, Any]:
        return await _status(server)


async def _status(server: CopydraftServer) -> dict[str, Any]:
    """What the server and the daemon do; asking starts no daemon."""
    daemon, problem = None, None
    try:
        async with await Client.connect(start=False) as client:
            daemon = await client.status()
    except CopydraftError as fault:
        problem = one_line(fault)
    return {
        "version": __version__,
        "protocol": PROTOCOL_VERSION,
        "encoding": getattr(server.documents.encoding, "value", server.documents.encoding),
        "documents": len(server.documents),
        "requests": len(server.jobs),
        "settings": msgspec.to_builtins(server.settings),
        "completion": server.completion_state(daemon.model if daemon else None),
        "daemon": msgspec.to_builtins(daemon, str_keys=True),
        "problem": problem,
    }
