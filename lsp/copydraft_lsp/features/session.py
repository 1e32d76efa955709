"""What the editor says of itself: its abilities, its settings, its saved documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import JsonRpcException

from copydraft_lsp import settings

if TYPE_CHECKING:
    from copydraft_lsp.server import CopydraftServer


def register(server: CopydraftServer) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.documents.encoding = ServerCapabilitiesBuilder.choose_position_encoding(
            params.capabilities
        )
        server.editor = params.client_info.name if params.client_info else ""
        server.documents.single_ends = server.editor == "Neovim"
        server.asks = _asks(params.capabilities.experimental)
        server.initial_options = params.initialization_options
        server.settings, server.early_warnings = settings.parse(server.initial_options)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        for warning in server.early_warnings:
            server.warn(warning)
        await _pull(server)
        # Not before the settings, which say what may be sent.
        server.sender.start()

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: None) -> None:
        await server.sender.stop()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(_: types.DidChangeWorkspaceFoldersParams) -> None:
        server.sender.look_again()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: types.DidChangeConfigurationParams) -> None:
        if isinstance(params.settings, dict) and settings.SECTION in params.settings:
            _take(server, params.settings)
        else:
            await _pull(server)

    # With the text, a document that was out of step without a sign is put right.
    @server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=True))
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document is None or params.text is None:
            return
        was_in_step = document.in_step
        if document.replace(params.text):
            server.note(f"{document.uri} was not as the editor has it; it is now")
        if not was_in_step:
            server.sender.look_again()


async def _pull(server: CopydraftServer) -> None:
    """Ask for our section, where the client answers such questions.

    One that answers with a fault keeps the settings that it began with.
    """
    workspace = server.client_capabilities.workspace
    if not workspace or not workspace.configuration:
        return
    wanted = types.ConfigurationItem(section=settings.SECTION)
    try:
        found = await server.workspace_configuration_async(types.ConfigurationParams([wanted]))
    except JsonRpcException as fault:
        server.note(f"the editor does not tell its settings: {fault.message}")
        return
    if found and found[0] is not None:
        _take(server, found[0])


def _take(server: CopydraftServer, given: Any) -> None:
    """Settings of the editor's, on top of those it began with."""
    server.settings, warnings = settings.parse(server.initial_options, given)
    server.sender.look_again()
    for warning in warnings:
        server.warn(warning)


def _asks(experimental: Any) -> bool:
    """Whether the client said `{"copydraft": {"asks": true}}` under its experimental abilities."""
    ours = experimental.get("copydraft") if isinstance(experimental, dict) else None
    return isinstance(ours, dict) and ours.get("asks") is True
