"""The index in the terminal: what there is to draft from, and adding to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from sqlite_utils import Database

from copydraft import config, devices, paths, terminal
from copydraft.engine.bulk import index_tokenizer
from copydraft.errors import BadRequest
from copydraft.index import additions, shards
from copydraft.index.cache import IndexCache
from copydraft.index.ingest import Progress
from copydraft.index.shards import CorpusKey
from copydraft.index.tokenizing import PLAIN, BulkTokenizer
from copydraft.index.worker import Job, run
from copydraft.models import catalog, library
from copydraft.terminal_reports import table
from copydraft.terminal_status import amount
from copydraft.workspace.libraries import Library, libraries_of
from copydraft.workspace.scanner import Scanner

PRINTINGS = (PLAIN,)
"""The formats that are indexed."""


class Row(msgspec.Struct, frozen=True):
    """A corpus as `copydraft index status` shows it; sizes in bytes."""

    kind: str
    root: str
    format: str
    tokenizer: str
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


class Added(msgspec.Struct, frozen=True):
    """What indexing a directory did."""

    root: str
    kind: str
    added: int
    """Files indexed anew."""
    removed: int
    tokens: int
    left_out: int
    """Files beyond the limit of tokens."""
    seconds: float


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
        shown = table("corpus", ">documents", ">tokens", ">segments", ">size", "directory")
        for row in status.corpora:
            numbers = (f"{row.documents:,}", f"{row.tokens:,}", f"{row.segments:,}")
            shown.add_row(row.kind, *numbers, amount(row.bytes), row.root)
        console.print(shown)
    terminal.say(console, f"{amount(status.bytes)} in {status.path}")


def add(path: Path, *, model: str, as_json: bool) -> None:
    """Index a workspace and the libraries that it uses, with progress on stderr.

    Raises:
        BadRequest: `path` is no directory.
        ModelProblem: there is no such model.
        DiskProblem: the index cannot be written.
        FileProblem: the directory cannot be scanned.
    """
    root = _directory(path)
    libraries = libraries_of(root) + additions.listed(paths.global_directories_file())
    _index(
        [("workspace", Library(root, ())), *(("global", each) for each in libraries)],
        model,
        as_json,
    )


def add_global(path: Path, *, model: str, as_json: bool) -> None:
    """Add a directory to the global corpus, for all workspaces.

    Raises:
        BadRequest: `path` is no directory.
        ModelProblem: there is no such model.
        DiskProblem: the index or the list of directories cannot be written.
        FileProblem: the directory cannot be scanned.
    """
    root = _directory(path)
    additions.add(paths.global_directories_file(), root)
    _index([("global", Library(root, ()))], model, as_json)


def rebuild(*, model: str, as_json: bool) -> None:
    """Index all that is indexed by this model from the beginning.

    Raises:
        ModelProblem: there is no such model.
        DiskProblem: the index cannot be written.
    """
    path = _model(model)
    tokenizer = index_tokenizer(path)
    cache = IndexCache(paths.index_database())
    known = [row.key for row in cache.run(shards.indexed)]
    mine = [key for key in known if key.tokenizer == tokenizer.fingerprint]
    # The libraries that were found in the workspaces bring their suffixes with them.
    suffixes = {
        library.root: library.suffixes
        for key in mine
        if key.kind == "workspace"
        for library in libraries_of(Path(key.root))
    }
    with cache.writing():
        for key in mine:
            cache.run(partial(_forget, key))
    roots = dict.fromkeys((key.kind, Path(key.root)) for key in mine)
    wanted = [(kind, Library(root, suffixes.get(root, ()))) for kind, root in roots]
    _index(wanted, model, as_json, tokenizer)


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


def _index(
    wanted: Sequence[tuple[str, Library]],
    model: str,
    as_json: bool,
    tokenizer: BulkTokenizer | None = None,
) -> None:
    path = _model(model)
    tokenizer = tokenizer or index_tokenizer(path)
    database = paths.index_database()
    done = []
    with _progress(terminal.stderr()) as follow:
        for kind, each in wanted:
            for printing in PRINTINGS:
                key = CorpusKey(kind, str(each.root), printing.name, tokenizer.fingerprint)
                job = Job(
                    database,
                    key,
                    printing,
                    partial(index_tokenizer, path),
                    each.suffixes,
                    kind == "global",
                )
                begun = time.monotonic()
                changes = run(job, tokenizer, follow(job))
                seconds = time.monotonic() - begun
                done.append(Added(key.root, kind, *changes, round(seconds, 3)))
    if as_json:
        click.echo(msgspec.json.encode({"indexed": done}))
        return
    for added in done:
        left_out = f", {added.left_out:,} files left out (too much text)" * bool(added.left_out)
        terminal.say(
            terminal.stdout(),
            f"{added.root}: {added.added:,} files indexed, {added.removed:,} forgotten, "
            f"{added.tokens:,} tokens in {added.seconds:.1f} s{left_out}",
        )


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[Job], Callable[[Progress], None]]]:
    """Gives a function that makes a bar for a job; nothing is shown where there is no terminal."""
    if not console.is_terminal:
        yield lambda _: lambda _: None
        return
    with Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files, {task.fields[tokens]} tokens"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    ) as bars:

        def follow(job: Job) -> Callable[[Progress], None]:
            scanner = Scanner(Path(job.key.root), suffixes=job.suffixes, library=job.library)
            total = sum(1 for _ in scanner.scan())
            task = bars.add_task(Path(job.key.root).name, total=total, tokens="0")

            def report(progress: Progress) -> None:
                bars.update(task, completed=progress.files, tokens=f"{progress.tokens:,}")

            return report

        yield follow


def _forget(key: CorpusKey, db: Database) -> None:
    corpus = shards.corpus_id(db, key)
    if corpus is not None:
        shards.forget(db, corpus)


def _directory(path: Path) -> Path:
    root = path.expanduser().resolve()
    if not root.is_dir():
        raise BadRequest(f"{path} is not a directory", "name a directory that exists")
    return root


def _model(name: str) -> Path:
    settings = config.load()
    card = devices.usable_card_memory(gpu_layers=settings.gpu_layers)
    return library.resolve(name or settings.model or catalog.default_model(card))
