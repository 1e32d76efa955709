"""`copydraft.prepare`: have the lines read while the user still types what to do with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from lsprotocol import types

from copydraft.errors import CopydraftError
from copydraft.protocol import Prepared, PrepareRequest
from copydraft_lsp import target
from copydraft_lsp.faults import argument, one_line
from copydraft_lsp.stream import result_of

if TYPE_CHECKING:
    from copydraft_lsp.jobs import Job
    from copydraft_lsp.server import CopydraftServer

COMMAND = "copydraft.prepare"


class PrepareArguments(target.Target, frozen=True, kw_only=True, rename="camel"):
    """The command's one argument."""

    kind: Literal["edit", "explain"] = "edit"


def register(server: CopydraftServer) -> None:
    latest: list[Job] = []

    @server.command(COMMAND)
    async def prepare(arguments: list[Any], _: types.ProgressToken | None) -> dict[str, Any] | None:
        asked = argument(arguments, PrepareArguments)
        while latest:
            latest.pop().cancel()
        with server.jobs.started(asked.id) as job:
            latest.append(job)
            try:
                return await _prepare(server, asked)
            except CopydraftError as fault:
                # What comes next tells the user, if it fails too.
                server.note(f"not prepared: {one_line(fault)}")
                return None
            finally:
                if job in latest:
                    latest.remove(job)


async def _prepare(server: CopydraftServer, asked: PrepareArguments) -> dict[str, Any]:
    """The command's result: see CONTRIBUTING, "The language server's commands"."""
    region = target.find(server, asked)
    request = PrepareRequest(
        region=target.as_region(server, region),
        kind=asked.kind,
        format=server.settings.format() if asked.kind == "edit" else "",
        generation=target.generation(server, region.document),
    )
    done = await result_of(server, lambda client: client.prepare(request), Prepared)
    return {"promptTokens": done.prompt_tokens, "reused": done.reused}
