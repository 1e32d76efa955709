"""What a command is about: lines of an open document, as the daemon is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from lsprotocol import types

from copydraft.errors import BadRequest, FileChanged
from copydraft.protocol import Generation, Region
from copydraft.textedits import split_lines
from copydraft_lsp.convert import ANY_END, whole_lines
from copydraft_lsp.documents import Document
from copydraft_lsp.places import folders, place_of, shown_path
from copydraft_lsp.regions import TrackedRegion

if TYPE_CHECKING:
    from copydraft_lsp.server import CopydraftServer

_BOM = "\ufeff"


class Position(msgspec.Struct, frozen=True):
    """A position as LSP writes it."""

    line: int
    character: int


class Lines(msgspec.Struct, frozen=True):
    """A range as LSP writes it."""

    start: Position
    end: Position


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
        BadRequest: the document is not open or not known well enough, or has no such lines.
        FileChanged: the selection was made in another version.
    """
    named = target.text_document
    document = known(server, named.uri)
    if named.version not in (None, document.version):
        raise FileChanged("the document has changed since the lines were selected", "ask again")
    selection = types.Range(
        types.Position(target.range.start.line, target.range.start.character),
        types.Position(target.range.end.line, target.range.end.character),
    )
    start, end = whole_lines(selection, len(document.lines))
    if start == end:
        raise BadRequest("there is no text in these lines", "select some code")
    return TrackedRegion(document, start, end)


def known(server: CopydraftServer, uri: str) -> Document:
    """The open document of that name.

    Raises:
        BadRequest: it is not open, or several are under this name.
        FileChanged: its text is not known for sure.
    """
    document = server.documents.get(uri)
    if document is None:
        raise BadRequest(f"{uri} is not open", "open it in the editor first")
    if document.ambiguous:
        raise BadRequest("several buffers have no name", "give this one a name by saving it")
    if not document.in_step:
        raise FileChanged(
            "copydraft lost track of this document", "save it, or close and open it, then ask again"
        )
    return document


def generation(server: CopydraftServer, document: Document) -> Generation:
    """How a request about the document is decoded, in the workspace that it belongs to."""
    place = place_of(document, folders(server))
    return msgspec.structs.replace(
        server.settings.generation(server.editor), workspace=place.workspace if place else ""
    )


def as_region(server: CopydraftServer, region: TrackedRegion) -> Region:
    """The region as the daemon takes it; it must not have moved yet."""
    document = region.document
    start, end = region.start, region.end
    if document.ends != ANY_END:
        above = split_lines("".join(document.lines[:start]))
        start, end = len(above), len(above) + len(split_lines(region.text))
    return Region(
        path=shown_path(document, folders(server)),
        text=document.text.removeprefix(_BOM),
        start=start,
        end=end,
    )
