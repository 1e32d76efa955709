"""What the daemon works with: settings, model, index, its socket, and itself if it runs."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from copydraft import __version__, config, devices, paths
from copydraft.api import api_key, lifecycle
from copydraft.client import Client
from copydraft.defaults import context_for
from copydraft.doctor.finding import Finding
from copydraft.index import shards
from copydraft.index.cache import IndexCache
from copydraft.models import catalog, library
from copydraft.models.gguf import memory_needed, read_metadata
from copydraft.protocol import Status
from copydraft.terminal_status import amount

_CARD_VARIABLES = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION")


def check_settings() -> Iterator[Finding]:
    config.load()
    changed = [
        f"{key} ({source})" for key, source in config.sources().items() if source != "default"
    ]
    yield Finding("settings", "ok", f"set: {', '.join(changed)}" if changed else "all defaults")


def check_model() -> Iterator[Finding]:
    settings = config.load()
    card = devices.usable_card_memory(gpu_layers=settings.gpu_layers)
    name = settings.model or catalog.default_model(card)
    entry = catalog.MODELS.get(name.lower())
    if entry and not library.path_of(entry).is_file():
        yield Finding(
            "model",
            "warning",
            f"{entry.name} is not downloaded yet ({amount(entry.size)})",
            f"`copydraft model pull {entry.name}`; the first request does it too",
        )
        return
    metadata = read_metadata(library.resolve(name))
    context = min(context_for(settings, on_card=card is not None), metadata.context_length)
    needed = memory_needed(metadata, context)
    room = devices.total_memory() if card is None else card
    told = (
        f"{metadata.path}: {metadata.architecture}, {metadata.memory_kind}, "
        f"{amount(metadata.size)}; {amount(needed)} with {context:,} tokens of context"
    )
    if needed > room:
        yield Finding(
            "model",
            "problem",
            f"{told}: more than the {amount(room)} of this machine",
            catalog.what_fits(room, context),
        )
    else:
        yield Finding("model", "ok", told)


def check_index() -> Iterator[Finding]:
    cache = IndexCache(paths.index_database())
    if not cache.path.exists():
        yield Finding("index", "ok", f"{cache.path}, made when a workspace is opened")
        return
    corpora = cache.run(shards.indexed)
    tokens = sum(each.tokens for each in corpora)
    roots = len({each.key.root for each in corpora})
    directories = "1 directory" if roots == 1 else f"{roots:,} directories"
    told = f"{directories}, {tokens:,} tokens, {amount(cache.size())}"
    yield Finding("index", "ok", f"{cache.path}: {told}")


def check_daemon() -> Iterator[Finding]:
    if not lifecycle.is_held(paths.lock_path()):
        yield Finding("daemon", "ok", "not running; the first request starts it")
        return
    status = asyncio.run(_status())
    model = f"{status.model.name} on {status.model.device}" if status.model else "no model loaded"
    told = f"version {status.version}, process {status.pid}, {model}"
    if status.version != __version__:
        yield Finding(
            "daemon", "warning", f"{told}; this is {__version__}", "`copydraft daemon restart`"
        )
    else:
        yield Finding("daemon", "ok", told)
    yield from judge_environment(os.environ, _environment(status.pid))


async def _status() -> Status:
    async with await Client.connect(start=False) as client:
        return await client.status()


def judge_environment(ours: Mapping[str, str], daemons: Mapping[str, str]) -> Iterator[Finding]:
    """The daemon keeps the environment that it was started with, whatever a shell has now."""
    differing = [name for name in _CARD_VARIABLES if ours.get(name) != daemons.get(name)]
    if differing:
        yield Finding(
            "daemon",
            "warning",
            f"it was started with another {' and '.join(differing)} than this shell has",
            "`copydraft daemon restart`",
        )


def _environment(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return {name: value for name, _, value in (os.fsdecode(line).partition("=") for line in lines)}


def check_api() -> Iterator[Finding]:
    port = config.load().api_port
    if not port:
        yield Finding("agents", "ok", "not served; `copydraft api on` serves them")
        return
    api_key.read()
    if not lifecycle.is_held(paths.lock_path()):
        yield Finding(
            "agents",
            "warning",
            f"no daemon runs that would serve them at port {port}",
            "`copydraft daemon start`",
        )
        return
    api = asyncio.run(_status()).api
    if api.problem:
        yield Finding("agents", "problem", api.problem, "then `copydraft daemon restart`")
    elif f":{port}/" not in api.url:
        yield Finding(
            "agents",
            "warning",
            f"the daemon was started before port {port} was set for them",
            "`copydraft daemon restart`",
        )
    else:
        yield Finding("agents", "ok", f"served at {api.url}")


def check_socket() -> Iterator[Finding]:
    path = paths.socket_path()
    if not path.exists():
        yield Finding("socket", "ok", f"{path}, made when the daemon starts")
    elif (mode := stat.S_IMODE(path.stat().st_mode)) != 0o600:
        yield Finding(
            "socket", "problem", f"{path} has mode {mode:o}", "`copydraft daemon restart`"
        )
    else:
        yield Finding("socket", "ok", f"{path}, only yours")
