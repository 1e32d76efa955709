"""The models of this machine, as OpenAI's API lists them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from copydraft import devices
from copydraft.config import Config
from copydraft.defaults import context_for
from copydraft.errors import ModelProblem
from copydraft.models import catalog, library
from copydraft.protocol import ModelStatus


def listed(config: Config, loaded: ModelStatus | None) -> list[dict[str, Any]]:
    """All that are downloaded, the one that is used where a request names none first."""
    card = devices.usable_card_memory(gpu_layers=config.gpu_layers)
    most = context_for(config, on_card=card is not None)
    default = default_name(config)
    found = {
        model.entry.name: (model.path, min(most, model.entry.context))
        for model in library.listed()
        if model.path
    }
    models = [_model(name, path, context, loaded) for name, (path, context) in found.items()]
    if default.lower() in found:
        return sorted(models, key=lambda model: model["id"] != default.lower())
    try:
        path = library.resolve(default)
    except ModelProblem:
        return models
    return [_model(default, path, None, loaded), *models]


def default_name(config: Config) -> str:
    """The model where a request names none: a name, or a path."""
    card = devices.usable_card_memory(gpu_layers=config.gpu_layers)
    return config.model or catalog.default_model(card)


def find(config: Config, loaded: ModelStatus | None, name: str) -> dict[str, Any]:
    """One of them.

    Raises:
        ModelProblem: it is not there.
    """
    for model in listed(config, loaded):
        if model["id"] in (name, name.lower()):
            return model
    raise ModelProblem(f"there is no model {name} here", "`copydraft model list` shows all")


def _model(
    name: str, path: Path, context: int | None, loaded: ModelStatus | None
) -> dict[str, Any]:
    if loaded and Path(loaded.path) == path:
        context = loaded.context
    known = {} if context is None else {"context": context}
    return {
        "id": name,
        "object": "model",
        "created": int(path.stat().st_mtime),
        "owned_by": "copydraft",
        **known,
    }
