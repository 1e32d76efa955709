"""Settings: defaults, then the config file, then the environment, then flags.

The file is TOML (`copydraft config show` prints its path); an environment variable is the key in
capitals behind `COPYDRAFT_`, as in `COPYDRAFT_IDLE_UNLOAD_MINUTES=5`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from copydraft import paths
from copydraft.errors import BadRequest, DiskProblem

_Count = Annotated[int, msgspec.Meta(ge=0)]
_Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
_Minutes = Annotated[float, msgspec.Meta(gt=0)]


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, with their defaults. 0 means "chosen for this machine" where it says so."""

    model: str = ""
    """Name in the catalog or path of a .gguf; empty: the default for this machine."""
    context: _Count = 0
    """Context window in tokens; 0: 8192 on a CPU, 32768 on a card, never above the model's own."""
    file_context: _Count = 0
    """Tokens of the file shown around the region; 0: 1536 on a CPU, 12288 on a card."""
    threads: _Count = 0
    """CPU threads for decoding; 0: the physical cores."""
    gpu_layers: Annotated[int, msgspec.Meta(ge=-1)] = -1
    """Layers on the card; -1: all."""
    max_draft: Annotated[int, msgspec.Meta(ge=0, le=127)] = 63
    """Most drafted tokens in one pass; 0 switches drafting off."""
    edit_format: Literal["fence", "search-replace", "unified-diff", "tool-call", "plain"] = "fence"
    """How the model writes an edit; `copydraft doctor --format` tells which formats it masters."""
    strict: bool = False
    """Settle near ties by plain decoding, so that drafting cannot change greedy text."""
    idle_unload_minutes: _Minutes = 15.0
    """The model leaves memory after so long without a request; inf: never."""
    idle_exit_minutes: _Minutes = 120.0
    """The daemon exits after so long without a client; inf, or with `api_port` set: never."""
    api_port: _Port = 0
    """Port of 127.0.0.1 where coding agents reach the OpenAI-compatible API; 0: none. The daemon
    then stays, since agents cannot start it; the model still leaves memory."""
    index: bool = True
    """Draft from the files and libraries of workspaces too, which are indexed on the disk."""
    record: bool = False
    """Keep the tokens of every request in the state directory, to replay them."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"


KEYS = tuple(field.name for field in msgspec.structs.fields(Config))


def load(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Config:
    """The settings in force; `flags` whose value is None are taken as not given.

    Raises:
        BadRequest: the file is not TOML, a key is unknown, or a value has the wrong type or is
            out of range.
    """
    path = file if file is not None else paths.config_file()
    env = os.environ if environ is None else environ
    values: dict[str, Any] = _read(path)
    for key in KEYS:
        if (text := env.get(f"COPYDRAFT_{key.upper()}")) is not None:
            values[key] = text
    values.update({key: value for key, value in (flags or {}).items() if value is not None})
    try:
        # strict=False reads "5" from the environment as the number that the field asks for.
        return msgspec.convert(values, Config, strict=False)
    except msgspec.ValidationError as error:
        raise _bad_setting(str(error), path, env) from error


def _bad_setting(error: str, file: Path, environ: Mapping[str, str]) -> BadRequest:
    """What msgspec says of a value, with the place where it was set."""
    said, _, key = error.removesuffix("`").partition(" - at `$.")
    if not key:
        return BadRequest(
            f"bad setting: {error}", f"settings are {', '.join(KEYS)}; the file is {file}"
        )
    variable = f"COPYDRAFT_{key.upper()}"
    place = f"the environment: {variable}" if variable in environ else str(file)
    return BadRequest(f"bad setting {key}: {said}", f"mend it in {place}")


Source = Literal["default", "file", "environment"]


def sources(
    *, environ: Mapping[str, str] | None = None, file: Path | None = None
) -> dict[str, Source]:
    """Where the value of each setting comes from.

    Raises:
        BadRequest: the file is not TOML.
    """
    stored = _read(file if file is not None else paths.config_file())
    env = os.environ if environ is None else environ

    def source(key: str) -> Source:
        if f"COPYDRAFT_{key.upper()}" in env:
            return "environment"
        return "file" if key in stored else "default"

    return {key: source(key) for key in KEYS}


def store(key: str, value: str | int | float | bool, *, file: Path | None = None) -> Path:
    """Write one setting into the config file, other lines kept as they are; its path.

    Raises:
        BadRequest: the file that is there is not TOML, or sets `key` in some unusual way.
        DiskProblem: it cannot be written.
    """
    path = file if file is not None else paths.config_file()
    wanted = {**_read(path), key: value}
    # A link to a file kept elsewhere stays one.
    real = path.resolve()
    paths.make_dir(real.parent)
    try:
        lines = real.read_text("utf-8").splitlines() if real.exists() else []
        kept = [line for line in lines if line.split("=")[0].strip(" \t\"'") != key]
        # JSON's scalars are TOML's too.
        text = "\n".join([f"{key} = {msgspec.json.encode(value).decode()}", *kept]) + "\n"
        if _parsed(text) != wanted:
            raise BadRequest(
                f"cannot change {key} in {path}", f"give it a line of its own: {key} = ..."
            )
        partial = real.with_suffix(".partial")
        partial.write_text(text, "utf-8")
        partial.replace(real)
    except OSError as error:
        raise DiskProblem(
            f"cannot write {path}: {error.strerror}", "free some space, or mend the permissions"
        ) from error
    return path


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadRequest(f"cannot read {path}: {error}", "mend or remove the file") from error
