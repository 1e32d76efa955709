"""OpenAI's API on the daemon's socket: the models that it lists."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from copydraft.models import catalog, library
from tests.fixtures.daemons import Running, running
from tests.fixtures.fake_service import MODEL
from tests.fixtures.openai_api import (
    failure,
    over_socket,
)


def pull(name: str) -> Path:
    path = library.path_of(catalog.MODELS[name])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    os.utime(path, (1_000, 1_000))
    return path


def listed(name: str, context: int | None = 8192) -> dict[str, Any]:
    model = {"id": name, "object": "model", "created": 1000, "owned_by": "copydraft"}
    return model | ({} if context is None else {"context": context})


async def test_without_a_model_the_list_is_empty(http: httpx.AsyncClient) -> None:
    assert (await http.get("/v1/models")).json() == {"object": "list", "data": []}


async def test_downloaded_models_are_listed_the_default_first(http: httpx.AsyncClient) -> None:
    for name in ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "qwen3.5-4b"):
        pull(name)
    assert (await http.get("/v1/models")).json() == {
        "object": "list",
        "data": [
            listed("qwen2.5-coder-1.5b"),
            listed("qwen2.5-coder-0.5b"),
            listed("qwen3.5-4b"),
        ],
    }


async def test_the_context_of_the_loaded_model_is_the_one_it_has(
    http: httpx.AsyncClient, daemon: Running
) -> None:
    path = pull("qwen2.5-coder-1.5b")
    daemon.service.model = msgspec.structs.replace(MODEL, path=str(path))
    assert (await http.get("/v1/models")).json()["data"] == [listed("qwen2.5-coder-1.5b", 1024)]


async def test_a_model_chosen_by_its_path_is_listed_by_it(tmp_path: Path) -> None:
    pull("qwen2.5-coder-0.5b")
    path = tmp_path / "own.gguf"
    path.write_bytes(b"")
    os.utime(path, (1_000, 1_000))
    async with running(model=str(path)), over_socket() as http:
        assert (await http.get("/v1/models")).json()["data"] == [
            listed(str(path), None),
            listed("qwen2.5-coder-0.5b"),
        ]
        assert (await http.get(f"/v1/models/{path}")).json() == listed(str(path), None)


async def test_one_model_is_told_by_its_name(http: httpx.AsyncClient) -> None:
    pull("qwen2.5-coder-0.5b")
    found = (await http.get("/v1/models/Qwen2.5-Coder-0.5B")).json()
    assert found == listed("qwen2.5-coder-0.5b")


@pytest.mark.parametrize("name", ["gpt-4o", "owner/name", "qwen2.5-coder-1.5b"])
async def test_a_model_that_is_not_here_is_not_found(http: httpx.AsyncClient, name: str) -> None:
    assert failure(await http.get(f"/v1/models/{name}")) == (
        404,
        {
            "message": f"there is no model {name} here; `copydraft model list` shows all",
            "type": "invalid_request_error",
            "param": None,
            "code": "model_not_found",
        },
    )
