"""`copydraft.explain`: what the selected lines do, or an answer to a question about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from lsprotocol import types

from copydraft.protocol import ExplainRequest, ExplainResult
from copydraft_lsp import target
from copydraft_lsp.faults import argument
from copydraft_lsp.stream import ask

if TYPE_CHECKING:
    from copydraft_lsp.server import CopydraftServer

COMMAND = "copydraft.explain"


class ExplainArguments(target.Target, frozen=True, kw_only=True, rename="camel"):
    """The command's one argument."""

    question: str = ""
    show: bool = False
    """Show the explanation as a message, for clients that do nothing with a command's result."""


def register(server: CopydraftServer) -> None:
    @server.command(COMMAND)
    async def explain(arguments: list[Any], token: types.ProgressToken | None) -> dict[str, Any]:
        return await _explain(server, argument(arguments, ExplainArguments), token)


async def _explain(
    server: CopydraftServer, asked: ExplainArguments, token: types.ProgressToken | None
) -> dict[str, Any]:
    """The command's result: see CONTRIBUTING, "The language server's commands"."""
    # Changes meanwhile do no harm: it is said of the lines as they were.
    with target.find(server, asked) as region, server.jobs.started(asked.id) as job:
        request = ExplainRequest(
            region=target.as_region(server, region),
            question=asked.question,
            generation=target.generation(server, region),
        )
        result = await ask(
            server,
            job,
            lambda client: client.explain(request),
            ExplainResult,
            region,
            named=asked.id,
            token=token,
        )
    if asked.show:
        server.window_show_message(types.ShowMessageParams(types.MessageType.Info, result.text))
    return {
        "id": asked.id,
        "text": result.text,
        "spans": msgspec.to_builtins(result.spans),
        "stats": msgspec.to_builtins(result.stats),
    }
