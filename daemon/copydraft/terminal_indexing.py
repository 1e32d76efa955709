"""Indexing from the terminal: directories are added, or all is begun anew, with progress bars."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from sqlite_utils import Database

from copydraft import config, devices, paths, terminal
from copydraft.engine.bulk import index_tokenizer
from copydraft.errors import BadRequest, Cancelled
from copydraft.evaluation.traces import Vocabulary
from copydraft.index import additions, shards
from copydraft.index.cache import IndexCache
from copydraft.index.ingest import Progress
from copydraft.index.printings import printings_for
from copydraft.index.shards import CorpusKey
from copydraft.index.tokenizing import PLAIN, BulkTokenizer
from copydraft.index.worker import Job, run
from copydraft.models import catalog, library
from copydraft.printable import printable
from copydraft.workspace.libraries import Library, libraries_of
from copydraft.workspace.projects import project_at
from copydraft.workspace.scanner import Scanner


class Added(msgspec.Struct, frozen=True):
    """What indexing a directory did."""

    root: str
    kind: str
    format: str
    added: int
    """Files indexed anew."""
    removed: int
    tokens: int
    left_out: int
    """Files beyond the limit of tokens."""
    seconds: float


class _Wanted(NamedTuple):
    kind: str
    library: Library


def add(path: Path, *, model: str, as_json: bool) -> None:
    """Index a workspace and the libraries that it uses, with progress on stderr.

    Raises:
        BadRequest: `path` is no directory, or none of one project.
        Cancelled: by Ctrl-C; what was indexed till then is kept.
        ModelProblem: there is no such model.
        DiskProblem: the index cannot be written.
        FileProblem: the directory cannot be scanned.
    """
    root = _directory(path)
    libraries = libraries_of(root) + additions.listed(paths.global_directories_file())
    wanted = [_Wanted("workspace", Library(root, ()))]
    wanted += [_Wanted("global", each) for each in libraries]
    _Indexing(model).run(wanted, as_json=as_json)


def add_global(path: Path, *, model: str, as_json: bool) -> None:
    """Add a directory to the global corpus, for all workspaces.

    Raises:
        BadRequest: `path` is no directory, or none of one project.
        Cancelled: by Ctrl-C; the directory is added, and indexed with the next workspace.
        ModelProblem: there is no such model.
        DiskProblem: the index or the list of directories cannot be written.
        FileProblem: the directory cannot be scanned.
    """
    root = _directory(path)
    indexing = _Indexing(model)
    additions.add(paths.global_directories_file(), root)
    indexing.run([_Wanted("global", Library(root, ()))], as_json=as_json)


def rebuild(*, model: str, as_json: bool) -> None:
    """Index all that is indexed by this model from the beginning.

    Raises:
        Cancelled: by Ctrl-C; what was not reached yet is as it was.
        ModelProblem: there is no such model.
        DiskProblem: the index cannot be written.
        FileProblem: a directory cannot be scanned.
    """
    indexing = _Indexing(model)
    indexed = indexing.known()
    indexing.forget_left(indexed)
    indexing.run(indexed, as_json=as_json, anew=True)


class _Indexing:
    """Indexes directories in the tokens of one model, in the formats of the settings."""

    def __init__(self, model: str) -> None:
        settings = config.load()
        card = devices.usable_card_memory(gpu_layers=settings.gpu_layers)
        path = library.resolve(model or settings.model or catalog.default_model(card))
        self._load: Callable[[], BulkTokenizer] = partial(index_tokenizer, path)
        self._tokenizer = self._load()
        agents = settings.api_port != 0
        tool_calls = agents or settings.edit_format == "tool-call"
        escaped = tool_calls and Vocabulary(path).escapes_calls
        self._printings = printings_for(settings.edit_format, escaped=escaped, agents=agents)
        self._cache = IndexCache(paths.index_database())

    def known(self) -> list[_Wanted]:
        """All directories that are indexed in these tokens, are still there, and still in use."""
        roots = dict.fromkeys((key.kind, Path(key.root)) for key in self._keys())
        workspaces = [Library(root, ()) for kind, root in roots if kind == "workspace"]
        found = [each for workspace in workspaces for each in libraries_of(workspace.root)]
        found += additions.listed(paths.global_directories_file())
        of_kind = {
            "workspace": {each.root: each for each in workspaces},
            "global": {each.root: each for each in found},
        }
        return [
            _Wanted(kind, of_kind[kind][root])
            for kind, root in roots
            if root in of_kind[kind] and root.is_dir()
        ]

    def forget_left(self, wanted: Sequence[_Wanted]) -> None:
        """Delete what is indexed in these tokens beside `wanted`, and in formats not in use."""
        kept = {job.key for job in self._jobs(wanted)}
        for key in self._keys():
            if key not in kept:
                self._forget(key)

    def run(self, wanted: Sequence[_Wanted], *, as_json: bool, anew: bool = False) -> None:
        """Index and print what was done; `anew` forgets each corpus before it is indexed."""
        done = []
        try:
            with _progress(terminal.stderr()) as follow:
                for job in self._jobs(wanted):
                    begun = time.monotonic()
                    if anew:
                        self._forget(job.key)
                    changes = run(job, self._tokenizer, follow(job))
                    kind, root, form, _ = job.key
                    seconds = round(time.monotonic() - begun, 3)
                    done.append(Added(root, kind, form, *changes, seconds))
        except KeyboardInterrupt:
            hint = "what was indexed is kept; `copydraft index add` goes on from there"
            raise Cancelled("interrupted", hint) from None
        if as_json:
            click.echo(msgspec.json.encode({"indexed": done}))
        else:
            _print(done)

    def _jobs(self, wanted: Sequence[_Wanted]) -> Iterator[Job]:
        for kind, each in wanted:
            for printing in self._printings:
                key = CorpusKey(kind, str(each.root), printing.name, self._tokenizer.fingerprint)
                of_others = kind == "global"
                yield Job(self._cache.path, key, printing, self._load, each.suffixes, of_others)

    def _keys(self) -> list[CorpusKey]:
        keys = [each.key for each in self._cache.run(shards.indexed)]
        return [key for key in keys if key.tokenizer == self._tokenizer.fingerprint]

    def _forget(self, key: CorpusKey) -> None:
        def forget(db: Database) -> None:
            corpus = shards.corpus_id(db, key)
            if corpus is not None:
                shards.forget(db, corpus)

        with self._cache.writing():
            self._cache.run(forget)


def _print(done: Sequence[Added]) -> None:
    if not done:
        terminal.say(terminal.stdout(), "nothing is indexed in this model's tokens")
    for added in done:
        left_out = f", {added.left_out:,} files left out (too much text)" * bool(added.left_out)
        form = f" as {added.format}" * (added.format != PLAIN.name)
        terminal.say(
            terminal.stdout(),
            f"{added.root}{form}: {added.added:,} files indexed, {added.removed:,} forgotten, "
            f"{added.tokens:,} tokens in {added.seconds:.1f} s{left_out}",
        )


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[Job], Callable[[Progress], None]]]:
    """Gives a function that makes a bar for a job; nothing is shown where there is no terminal."""
    if not terminal.redraws(console):
        yield lambda _: lambda _: None
        return
    with Bars(
        SpinnerColumn(),
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
            name = printable(Path(job.key.root).name)
            task = bars.add_task(name, total=total, tokens="0")

            def report(progress: Progress) -> None:
                bars.update(task, completed=progress.files, tokens=f"{progress.tokens:,}")

            return report

        yield follow


def _directory(path: Path) -> Path:
    root = path.expanduser().resolve()
    if not root.is_dir():
        raise BadRequest(f"{path} is not a directory", "name a directory that exists")
    if project_at(str(root)) is None:
        # Neither would the daemon draft from it.
        raise BadRequest(
            f"{path} is no directory of one project",
            "name the root of a project, or a directory of code",
        )
    return root
