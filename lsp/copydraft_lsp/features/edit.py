"""`copydraft.edit`: rewrite the selected lines by an instruction."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from lsprotocol import types

from copydraft.errors import FileChanged
from copydraft.protocol import EditRequest, EditResult
from copydraft_lsp import target
from copydraft_lsp.faults import argument
from copydraft_lsp.regions import TrackedRegion
from copydraft_lsp.stream import About, ask

if TYPE_CHECKING:
    from copydraft_lsp.server import CopydraftServer

COMMAND = "copydraft.edit"

_ANNOTATION = "copydraft"
_TRIES = 3


class EditArguments(target.Target, frozen=True, kw_only=True, rename="camel"):
    """The command's one argument."""

    instruction: str
    apply: bool = True
    """False: the edit is only in the result, for a client that lets the user accept it."""


def register(server: CopydraftServer) -> None:
    @server.command(COMMAND)
    async def edit(arguments: list[Any], token: types.ProgressToken | None) -> dict[str, Any]:
        return await _edit(server, argument(arguments, EditArguments), token)


async def _edit(
    server: CopydraftServer, asked: EditArguments, token: types.ProgressToken | None
) -> dict[str, Any]:
    """The command's result: see CONTRIBUTING, "The language server's commands"."""
    with target.find(server, asked) as region, server.jobs.started(asked.id) as job:
        form = server.settings.format()
        request = EditRequest(
            region=target.as_region(server, region),
            instruction=asked.instruction,
            format=form,
            generation=target.generation(server, region.document),
        )
        lines = region.document.lines[region.start : region.end] if form == "fence" else None
        # Written in vain from then on: the region is checked again before anything is applied.
        region.on_loss = job.fail
        result = await ask(
            server,
            job,
            lambda client: client.edit(request),
            EditResult,
            request.region,
            About(asked.id, "edit", lambda: region.where, lines),
            token,
        )
        region.on_loss = None
        return await _answer(server, asked, region, result)


async def _answer(
    server: CopydraftServer, asked: EditArguments, region: TrackedRegion, result: EditResult
) -> dict[str, Any]:
    edits = region.edits(result.text, server.documents.encoding)
    answer = {
        "id": asked.id,
        "uri": region.document.uri,
        "version": region.document.version,
        "start": region.start,
        "end": region.end,
        "text": result.text,
        "spans": msgspec.to_builtins(result.spans),
        "stats": msgspec.to_builtins(result.stats),
        "edit": workspace_edit(server, region, edits, asked.instruction) if edits else None,
        "applied": False,
    }
    if edits and asked.apply:
        await _apply(server, region, result.text, asked.instruction)
        answer["applied"] = True
    return answer


async def _apply(
    server: CopydraftServer, region: TrackedRegion, text: str, instruction: str
) -> None:
    """Have the client apply the edit, rebased where it changes the document just then.

    Raises:
        FileChanged: the client does not apply it, or the lines were changed.
    """
    for _ in range(_TRIES):
        version = region.document.version
        edits = region.edits(text, server.documents.encoding)
        asked = asyncio.ensure_future(
            server.workspace_apply_edit_async(
                types.ApplyWorkspaceEditParams(
                    workspace_edit(server, region, edits, instruction), _label(instruction)
                )
            )
        )
        try:
            answer = await asyncio.shield(asked)
        except asyncio.CancelledError:
            # Too late: the editor has the edit. Say what becomes of it.
            answer = await asked
        if answer.applied:
            return
        if region.lost:
            raise region.lost
        if region.document.version == version:
            reason = answer.failure_reason or "it gives no reason"
            raise FileChanged(f"the editor did not apply the edit: {reason}", "ask again")
    raise FileChanged("the document changes too fast to apply the edit", "ask again")


def workspace_edit(
    server: CopydraftServer,
    region: TrackedRegion,
    edits: list[types.TextEdit],
    instruction: str,
) -> types.WorkspaceEdit:
    """`edits` of the region's document at its present version, as the client can take them."""
    workspace = server.client_capabilities.workspace
    can = workspace.workspace_edit if workspace else None
    document = region.document
    if not can or not can.document_changes:
        return types.WorkspaceEdit(changes={document.uri: edits})
    named = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
    if not can.change_annotation_support:
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(named, edits)])
    annotated = [types.AnnotatedTextEdit(_ANNOTATION, edit.range, edit.new_text) for edit in edits]
    return types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(named, annotated)],
        change_annotations={_ANNOTATION: types.ChangeAnnotation(_label(instruction))},
    )


def _label(instruction: str) -> str:
    return f"copydraft: {instruction.strip().splitlines()[0][:60]}"
