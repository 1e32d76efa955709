"""What a command is about: lines of an open document, as the daemon is told of them."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import msgspec
from lsprotocol import types

from copydraft.errors import BadRequest, FileChanged
from copydraft.protocol import Generation, Region
from copydraft_lsp.convert import whole_lines
from copydraft_lsp.documents import Document
from copydraft_lsp.regions import TrackedRegion

if TYPE_CHECKING:
    from copydraft_lsp.server import CopydraftServer

_BOM = "\ufeff"

_SUFFIXES = {
    "c": ".c",
    "cpp": ".cpp",
    "csharp": ".cs",
    "go": ".go",
    "java": ".java",
    "javascript": ".js",
    "json": ".json",
    "julia": ".jl",
    "lua": ".lua",
    "markdown": ".md",
    "python": ".py",
    "r": ".r",
    "ruby": ".rb",
    "rust": ".rs",
    "shellscript": ".sh",
    "sh": ".sh",
    "sql": ".sql",
    "typescript": ".ts",
}


class Place(msgspec.Struct, frozen=True):
    """A position as LSP writes it."""

    line: int
    character: int


class Lines(msgspec.Struct, frozen=True):
    """A range as LSP writes it."""

    start: Place
    end: Place


class DocumentName(msgspec.Struct, frozen=True):
    """A document as LSP names it; without a version, whatever version is here."""

    uri: str
    version: int | None = None


class Target(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The part of a command's argument that says what it is about."""

    text_document: DocumentName
    range: Lines
    id: str = ""
    """The client's name for the request; with one, `copydraft/delta` notifications are sent."""


def find(server: CopydraftServer, target: Target) -> TrackedRegion:
    """The lines that the selection touches.

    Raises:
        BadRequest: the document is not open or not known well enough.
        FileChanged: the selection was made in another version.
    """
    named = target.text_document
    document = server.documents.get(named.uri)
    if document is None:
        raise BadRequest(f"{named.uri} is not open", "open it in the editor first")
    if document.ambiguous:
        raise BadRequest("several buffers have no name", "give this one a name by saving it")
    if not document.in_step:
        raise FileChanged(
            "copydraft lost track of this document", "save it, or close and open it, then ask again"
        )
    if named.version not in (None, document.version):
        raise FileChanged("the document has changed since the lines were selected", "ask again")
    selection = types.Range(
        types.Position(target.range.start.line, target.range.start.character),
        types.Position(target.range.end.line, target.range.end.character),
    )
    return TrackedRegion(document, *whole_lines(selection, len(document.lines)))


def generation(server: CopydraftServer, region: TrackedRegion) -> Generation:
    """How a request about the region is decoded, in the workspace folder that it is in."""
    root = _folder(region.document, _folders(server))
    return msgspec.structs.replace(
        server.settings.generation(server.editor), workspace=root.rstrip("/")
    )


def as_region(server: CopydraftServer, region: TrackedRegion) -> Region:
    """The region as the daemon takes it; it must not have moved yet."""
    return Region(
        path=shown_path(region.document, _folders(server)),
        text=region.document.text.removeprefix(_BOM),
        start=region.start,
        end=region.end,
    )


def shown_path(document: Document, folders: list[str]) -> str:
    """What the model is told of a document's place: its path in the workspace folder it is in.

    What has no file is named after its language, which answers are written in.
    """
    parts = urlsplit(document.uri)
    path = unquote(parts.path)
    name = PurePosixPath(path)
    if parts.scheme == "file":
        root = _folder(document, folders)
        return path.removeprefix(root) if root else name.name
    suffix = _SUFFIXES.get(document.language, name.suffix)
    return (name.stem or "untitled") + suffix


def _folder(document: Document, folders: list[str]) -> str:
    """The innermost workspace folder that a document's file is in, with a slash behind, or ""."""
    parts = urlsplit(document.uri)
    roots = [unquote(urlsplit(folder).path).rstrip("/") + "/" for folder in folders]
    inside = [root for root in roots if unquote(parts.path).startswith(root)]
    return max(inside, key=len, default="") if parts.scheme == "file" else ""


def _folders(server: CopydraftServer) -> list[str]:
    """URIs of the workspace folders; older clients name a root alone."""
    folders = list(server.workspace.folders)
    root = server.workspace.root_uri
    return folders or ([root] if root else [])
