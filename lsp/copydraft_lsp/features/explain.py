"""`copydraft.explain`: what the selected lines do, or an answer to a question about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from lsprotocol import types

from copydraft.errors import BadRequest
from copydraft.protocol import ExplainRequest, ExplainResult, Turn
from copydraft_lsp import target
from copydraft_lsp.conversations import Conversation
from copydraft_lsp.faults import argument
from copydraft_lsp.stream import About, ask

if TYPE_CHECKING:
    from copydraft_lsp.server import CopydraftServer

COMMAND = "copydraft.explain"


class ExplainArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The command's one argument: a document and a range in it, or a session."""

    text_document: target.DocumentName | None = None
    range: target.Lines | None = None
    session: str = ""
    """Of an earlier result: the question goes on there, about the lines as they were then."""
    question: str = ""
    id: str = ""
    """The client's name for the request; with one, `copydraft/delta` notifications are sent."""
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
    talk = server.conversations.find(asked.session) if asked.session else _begin(server, asked)
    request = ExplainRequest(
        region=talk.region,
        question=asked.question,
        turns=[*talk.turns],
        generation=msgspec.structs.replace(
            server.settings.generation(server.editor), workspace=talk.workspace
        ),
    )
    with server.jobs.started(asked.id) as job:
        result = await ask(
            server,
            job,
            lambda client: client.explain(request),
            ExplainResult,
            request.region,
            About(asked.id, "explain", lambda: talk.where),
            token,
        )
    session = server.conversations.note(
        asked.session, talk, Turn(question=asked.question, answer=result.text)
    )
    if asked.show:
        server.window_show_message(types.ShowMessageParams(types.MessageType.Info, result.text))
    return {
        "id": asked.id,
        "session": session,
        "text": result.text,
        "spans": msgspec.to_builtins(result.spans),
        "stats": msgspec.to_builtins(result.stats),
    }


def _begin(server: CopydraftServer, asked: ExplainArguments) -> Conversation:
    """A conversation about the lines as they are now; later changes do it no harm."""
    if asked.text_document is None or asked.range is None:
        raise BadRequest("neither lines nor a session to explain", "see CONTRIBUTING.md")
    lines = target.Target(text_document=asked.text_document, range=asked.range)
    region = target.find(server, lines)
    workspace = target.generation(server, region.document).workspace
    return Conversation(target.as_region(server, region), region.where, workspace)
