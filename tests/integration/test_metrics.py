"""The daemon's statistics and state, as Prometheus reads them."""

from __future__ import annotations

import contextlib

import httpx
from prometheus_client.parser import text_string_to_metric_families

from copydraft.client import Client
from tests.fixtures.daemons import Running, edit
from tests.fixtures.fake_service import stats

Seen = dict[tuple[str, frozenset[str]], float]


async def scrape(http: httpx.AsyncClient) -> Seen:
    """Each sample's value, by its name and the values of its labels."""
    response = await http.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, frozenset(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def of(*labels: str) -> frozenset[str]:
    return frozenset(labels)


async def test_costs_are_summed_by_kind(daemon: Running, http: httpx.AsyncClient) -> None:
    for kind, tokens in ("edit", 30), ("edit", 12), ("chat", 5):
        daemon.store.record(stats(kind=kind, output_tokens=tokens, decode_ms=500.0))
    seen = await scrape(http)
    assert seen["copydraft_requests_total", of("edit")] == 2
    assert seen["copydraft_output_tokens_total", of("edit")] == 42
    assert seen["copydraft_decode_seconds_total", of("edit")] == 1.0
    assert seen["copydraft_output_tokens_total", of("chat")] == 5


async def test_drafts_are_summed_by_corpus_too(daemon: Running, http: httpx.AsyncClient) -> None:
    for drafted in {"region": 40, "session": 9}, {"region": 2}:
        daemon.store.record(stats(kind="edit", drafted=drafted, accepted={"region": 2}))
    seen = await scrape(http)
    assert seen["copydraft_drafted_tokens_total", of("edit", "region")] == 42
    assert seen["copydraft_drafted_tokens_total", of("edit", "session")] == 9
    assert seen["copydraft_accepted_tokens_total", of("edit", "region")] == 4


async def test_the_state_is_that_of_now(client: Client, http: httpx.AsyncClient) -> None:
    idle = await scrape(http)
    assert idle["copydraft_requests_active", of()] == 0
    assert idle["copydraft_resident_bytes", of()] > 1_000_000
    async with contextlib.aclosing(client.edit(edit("hold"))) as events:
        await anext(events)
        assert (await scrape(http))["copydraft_requests_active", of()] == 1


async def test_the_model_in_memory_is_named(daemon: Running, http: httpx.AsyncClient) -> None:
    assert (await scrape(http))["copydraft_model_info", of("fake", "CPU")] == 1
    daemon.service.model = None
    assert not [name for name, _ in await scrape(http) if name == "copydraft_model_info"]
