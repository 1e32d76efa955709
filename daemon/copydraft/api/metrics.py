"""GET /metrics: the daemon's statistics and state, in Prometheus's text format.

The counters are the sums that `copydraft stats` shows, over all that is kept, so they go on where
they were after a restart; `copydraft stats clear` begins them anew, as Prometheus expects of a
counter that falls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from copydraft.index.store import StateStore
from copydraft.protocol import Status, Usage

_BY_KIND: dict[str, tuple[str, Callable[[Usage], float]]] = {
    "requests": ("Requests that were answered.", lambda usage: usage.requests),
    "prompt_tokens": ("Tokens of prompts.", lambda usage: usage.prompt_tokens),
    "reused_tokens": ("Tokens of prompts found in memory.", lambda usage: usage.reused_tokens),
    "output_tokens": ("Tokens written.", lambda usage: usage.output_tokens),
    "copied_tokens": ("Tokens written that were drafted.", lambda usage: usage.copied_tokens),
    "passes": ("Decode passes of answers.", lambda usage: usage.passes),
    "decode_seconds": ("Time from first to last token.", lambda usage: usage.decode_ms / 1000),
}

_BY_CORPUS: dict[str, tuple[str, Callable[[Usage], dict[str, int]]]] = {
    "drafted_tokens": ("Tokens proposed to the model.", lambda usage: usage.drafted),
    "accepted_tokens": ("Tokens that the model picked too.", lambda usage: usage.accepted),
}

_NOW: dict[str, tuple[str, Callable[[Status], float]]] = {
    "resident_bytes": ("Memory of the daemon's process.", lambda status: status.resident_bytes),
    "requests_active": ("Requests being answered.", lambda status: status.active),
    "requests_waiting": ("Requests in the queue.", lambda status: status.waiting),
    "connections": ("Open connections.", lambda status: status.clients),
}


class MetricsApi:
    """The route, over a store and the daemon's own `status`."""

    def __init__(self, store: StateStore, status: Callable[[], Status]) -> None:
        self._store = store
        self._status = status

    def routes(self) -> list[Route]:
        return [Route("/metrics", self.metrics, methods=["GET"])]

    async def metrics(self, _: Request) -> Response:
        report = await asyncio.to_thread(self._store.report, None)
        registry = CollectorRegistry()
        registry.register(_Snapshot(self._status(), report.by_kind))
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


class _Snapshot(Collector):
    """The daemon at one moment."""

    def __init__(self, status: Status, by_kind: list[Usage]) -> None:
        self._status = status
        self._by_kind = by_kind

    def collect(self) -> Iterator[Metric]:
        for name, (meaning, value_of) in _BY_KIND.items():
            counter = CounterMetricFamily(f"copydraft_{name}", meaning, labels=["kind"])
            for usage in self._by_kind:
                counter.add_metric([usage.name], value_of(usage))
            yield counter
        for name, (meaning, values_of) in _BY_CORPUS.items():
            counter = CounterMetricFamily(f"copydraft_{name}", meaning, labels=["kind", "corpus"])
            for usage in self._by_kind:
                for corpus, tokens in values_of(usage).items():
                    counter.add_metric([usage.name, corpus], tokens)
            yield counter
        for name, (meaning, value) in _NOW.items():
            yield GaugeMetricFamily(f"copydraft_{name}", meaning, value(self._status))
        model = InfoMetricFamily("copydraft_model", "The model in memory.", labels=[])
        if loaded := self._status.model:
            model.add_metric([], {"name": loaded.name, "device": loaded.device})
        yield model
