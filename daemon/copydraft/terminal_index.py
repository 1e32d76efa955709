"""The index in the terminal: what there is to draft from, and deleting it."""

from __future__ import annotations

import click
import msgspec
from rich.text import Text

from copydraft import paths, terminal
from copydraft.index import additions, shards
from copydraft.index.cache import IndexCache
from copydraft.printable import printable
from copydraft.terminal_reports import table
from copydraft.terminal_status import amount

_SHORT = 8
"""Digits of a tokenizer's fingerprint that tell it from others."""


class Row(msgspec.Struct, frozen=True):
    """A corpus as `copydraft index status` shows it; sizes in bytes."""

    kind: str
    root: str
    format: str
    tokenizer: str
    """Models of one family share it."""
    documents: int
    tokens: int
    segments: int
    bytes: int
    memory: int
    """What it takes in the daemon while it is used."""


class Status(msgspec.Struct, frozen=True):
    """The index in numbers."""

    path: str
    bytes: int
    """On the disk."""
    corpora: list[Row]
    directories: list[str]
    """Added to the global corpus by the user."""


def show_status(*, as_json: bool) -> None:
    """Print what is indexed.

    Raises:
        DiskProblem: the index cannot be read.
    """
    status = _status()
    if as_json:
        click.echo(msgspec.json.encode(status))
        return
    console = terminal.stdout()
    if not status.corpora:
        console.print("nothing is indexed yet; opening a workspace in an editor begins it")
    else:
        several = len({row.tokenizer for row in status.corpora}) > 1
        last = ("tokenizer", "directory") if several else ("directory",)
        shown = table("corpus", "format", ">documents", ">tokens", ">segments", ">size", *last)
        for row in status.corpora:
            numbers = (f"{row.documents:,}", f"{row.tokens:,}", f"{row.segments:,}")
            tokenizer = (row.tokenizer[:_SHORT],) if several else ()
            directory = Text(printable(row.root))  # brackets: no markup
            shown.add_row(row.kind, row.format, *numbers, amount(row.bytes), *tokenizer, directory)
        console.print(shown)
    indexed = {row.root for row in status.corpora if row.kind == "global"}
    for added in status.directories:
        if added not in indexed:
            terminal.say(console, f"{added} is global and waits to be indexed")
    terminal.say(console, f"{amount(status.bytes)} in {status.path}")


def clear(*, as_json: bool) -> None:
    """Delete the index; directories that the user added to the global corpus stay listed.

    Raises:
        DiskProblem: it is being written, or cannot be deleted.
    """
    cache = IndexCache(paths.index_database())
    freed = cache.size()
    with cache.writing(wait=False):
        cache.remove()
    if as_json:
        click.echo(msgspec.json.encode({"freed_bytes": freed}))
    else:
        terminal.say(terminal.stdout(), f"deleted {amount(freed)}")


def _status() -> Status:
    cache = IndexCache(paths.index_database())
    found = cache.run(shards.indexed) if cache.path.exists() else []
    rows = [
        Row(*each.key, each.documents, each.tokens, each.segments, each.bytes, each.bytes)
        for each in found
    ]
    directories = [str(each.root) for each in additions.listed(paths.global_directories_file())]
    return Status(str(cache.path), cache.size(), rows, directories)
