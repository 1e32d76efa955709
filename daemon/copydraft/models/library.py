"""The models on this machine: finding, listing, choosing and removing them."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from copydraft import config, paths
from copydraft.errors import BadRequest, DiskProblem, ModelProblem
from copydraft.models import catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Listed:
    """A model of the catalog, as this machine has it."""

    entry: catalog.Entry
    path: Path | None
    """Its file; None: not downloaded."""
    partial_bytes: int
    """What an unfinished pull left, to go on from."""


def path_of(entry: catalog.Entry) -> Path:
    """Where the model's file is, or would be once downloaded."""
    return paths.models_dir() / entry.file


def partial_path(entry: catalog.Entry, sha256: str) -> Path:
    """Where the file of that sum grows while it is fetched."""
    return paths.models_dir() / f"{entry.file}.{sha256[:12]}.partial"


def listed() -> list[Listed]:
    """Every model of the catalog, in its order."""
    return [
        Listed(
            entry,
            path if (path := path_of(entry)).is_file() else None,
            sum(_size(partial) for partial in _partials(entry)),
        )
        for entry in catalog.MODELS.values()
    ]


def resolve(name_or_path: str) -> Path:
    """The file of a model that is on this machine, given by name or by path.

    Raises:
        ModelProblem: the name is unknown, the model is not downloaded, or there is no such file.
    """
    if not _is_path(name_or_path):
        entry = catalog.find(name_or_path)
        if not (path := path_of(entry)).is_file():
            raise ModelProblem(
                f"{entry.name} is not downloaded", f"run `copydraft model pull {entry.name}`"
            )
        return path
    path = Path(name_or_path).expanduser().absolute()
    if not path.exists():
        raise ModelProblem(
            f"there is no file {path}", "give the path of a .gguf file, or a name of `model list`"
        )
    return path


def use(name_or_path: str) -> Path:
    """Make this the model of all requests that name none; the changed config file.

    Raises:
        ModelProblem: see `resolve`; or the file is not a model that can be run.
        BadRequest: the config file cannot be read.
    """
    # gguf takes a quarter of a second to import, and listing or finding models needs none of it.
    from copydraft.models.gguf import read_metadata  # noqa: PLC0415

    path = resolve(name_or_path)
    read_metadata(path)
    return config.store("model", str(path) if _is_path(name_or_path) else name_or_path.lower())


def remove(name: str) -> int:
    """Delete a downloaded model and what unfinished pulls left of it; the bytes freed.

    Raises:
        BadRequest: a path is given; files that copydraft did not fetch are the user's own.
        ModelProblem: the name is unknown, nothing of it is here, or it is being pulled.
        DiskProblem: it cannot be deleted.
    """
    if _is_path(name):
        raise BadRequest(f"{name} is a path", "delete your own file yourself, or give a name")
    entry = catalog.find(name)
    files = [*_partials(entry), *([path_of(entry)] if path_of(entry).is_file() else [])]
    if not files:
        raise ModelProblem(
            f"{entry.name} is not downloaded", "`copydraft model list` shows which are"
        )

    def refuse() -> None:
        raise ModelProblem(f"{entry.name} is being pulled", "stop that pull first")

    with locked(entry, refuse):
        freed = 0
        for file in files:
            freed += _size(file)
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                raise DiskProblem(f"cannot delete {file}: {error.strerror}") from error
    return freed


@contextmanager
def locked(entry: catalog.Entry, busy: Callable[[], None]) -> Iterator[None]:
    """Alone with the model's files among all processes; `busy` is called before waiting.

    Raises:
        DiskProblem: the models directory cannot be written.
    """
    lock = paths.make_dir(paths.models_dir()) / f".{entry.name}.lock"
    try:
        file = lock.open("a")
    except OSError as error:
        raise DiskProblem(
            f"cannot write {lock}: {error.strerror}", "mend the directory's rights"
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            busy()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _partials(entry: catalog.Entry) -> list[Path]:
    return sorted(paths.models_dir().glob(f"{entry.file}.*.partial"))


def _size(path: Path) -> int:
    """Bytes of a file; 0 if a pull that ended just now took it away."""
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def _is_path(name_or_path: str) -> bool:
    return "/" in name_or_path or name_or_path.endswith(".gguf")
