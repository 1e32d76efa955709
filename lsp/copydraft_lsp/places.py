"""Where documents belong: their workspace folder and their name in it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from copydraft_lsp.documents import Document

if TYPE_CHECKING:
    from copydraft_lsp.server import CopydraftServer

_DRIVE = re.compile(r"/[a-zA-Z]:")

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


class Place(NamedTuple):
    """A document as the daemon knows it."""

    workspace: str
    """Absolute path of the folder."""
    name: str
    """Path below the folder; absolute for a file elsewhere. Of what has no file, the URI and the
    suffix of its language: completions are shown this name, and write by it."""


def path_of(uri: str) -> str:
    """The path in a URI, with one spelling for `c%3A` and `C:`."""
    path = unquote(urlsplit(uri).path)
    return path[:3].lower() + path[3:] if _DRIVE.match(path) else path


def folders(server: CopydraftServer) -> list[str]:
    """Paths of the workspace folders, in the client's order; older clients name a root alone."""
    named = list(server.workspace.folders)
    root = server.workspace.root_uri
    uris = named or ([root] if root else [])
    return [path_of(uri).rstrip("/") or "/" for uri in uris if urlsplit(uri).scheme == "file"]


def place_of(document: Document, folders: list[str]) -> Place | None:
    """The place in the innermost folder that holds the document's file, else in the first folder.

    None: there is no folder.
    """
    path = path_of(document.uri)
    is_file = urlsplit(document.uri).scheme == "file"
    if is_file and (folder := _innermost(path, folders)):
        return Place(folder, path.removeprefix(folder).lstrip("/"))
    if not folders:
        return None
    if is_file:
        return Place(folders[0], path)
    suffix = _SUFFIXES.get(document.language, "")
    return Place(folders[0], document.uri.removesuffix(suffix) + suffix)


def shown_path(document: Document, folders: list[str]) -> str:
    """What the model is told of a document's place: its path in the folder that its file is in.

    What has no file is named after its language, which answers are written in.
    """
    path = path_of(document.uri)
    name = PurePosixPath(path)
    if urlsplit(document.uri).scheme == "file":
        folder = _innermost(path, folders)
        return path.removeprefix(folder).lstrip("/") if folder else name.name
    suffix = _SUFFIXES.get(document.language, name.suffix)
    return (name.stem or "untitled") + suffix


def _innermost(path: str, folders: list[str]) -> str:
    """The folder that a file is in, or ""."""
    inside = [each for each in folders if path.startswith(each.rstrip("/") + "/")]
    return max(inside, key=len, default="")
