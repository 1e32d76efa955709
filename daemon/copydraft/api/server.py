"""The daemon: serves the API on its socket until it is told to stop or has been idle for long."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import threading
import time

from starlette.applications import Starlette

from copydraft import __version__, devices
from copydraft.api import faults, logs
from copydraft.api.agents import AgentsPort
from copydraft.api.gate import Gate
from copydraft.api.http_server import HttpServer
from copydraft.api.metrics import MetricsApi
from copydraft.api.native import NativeApi
from copydraft.api.openai import OpenAiApi
from copydraft.api.web import StatisticsSite
from copydraft.config import Config
from copydraft.errors import Cancelled
from copydraft.index.store import StateStore
from copydraft.protocol import PROTOCOL_VERSION, Status
from copydraft.serving.service import Service

_log = logging.getLogger(__name__)

_SHORTEST_PERIOD_S = 0.01
_LONGEST_PERIOD_S = 10.0

STOP_GRACE_S = 1.0
"""Requests that the service has not ended by then are told so by the API."""


class Daemon:
    """One service behind one socket; `serve` runs it, `stop` ends it."""

    def __init__(
        self, config: Config, service: Service, store: StateStore, listener: socket.socket
    ) -> None:
        self._config = config
        self._service = service
        self._listener = listener
        self._socket_path: str = listener.getsockname()
        self._started = time.monotonic()
        self._stopping = asyncio.Event()
        self._api = NativeApi(service, store, self.status, self.stop)
        self._openai = OpenAiApi(service, self._api.desk, self._api.last, config)
        self._site = StatisticsSite(self._api.reading_routes())
        for_agents = [*self._openai.routes(), *MetricsApi(store, self.status).routes()]
        routes = [*self._api.routes(), *for_agents, *self._site.routes()]
        application = Starlette(routes=routes, exception_handlers=faults.HANDLERS)
        self._gate = Gate(application)
        self._server = HttpServer(self._gate)
        self._agents = AgentsPort(for_agents, self._gate)

    async def serve(self) -> bool:
        """Serve until `stop`, then end the requests that run; False if the service hangs on."""
        self._agents.open(self._config.api_port)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._agents.serve())
            serving = tasks.create_task(self._server.serve(sockets=[self._listener]))
            watching = tasks.create_task(self._watch_idleness())
            await self._stopping.wait()
            watching.cancel()
            stopped = await self._stop_service()
            await self._site.close()
            self._agents.end()
            self._server.end()
            await serving
        return stopped

    def stop(self) -> None:
        """Ask `serve` to end; to be called in its event loop."""
        if not self._gate.closed:
            _log.info("stopping")
        self._gate.closed = True
        self._stopping.set()

    def status(self) -> Status:
        serving = self._service.snapshot()
        return Status(
            version=__version__,
            protocol=PROTOCOL_VERSION,
            pid=os.getpid(),
            uptime_s=time.monotonic() - self._started,
            socket=self._socket_path,
            model=serving.model,
            workspaces=serving.workspaces,
            resident_bytes=devices.resident_bytes(os.getpid()),
            active=serving.active,
            waiting=serving.waiting,
            clients=len(self._server.server_state.connections) + self._agents.clients,
            requests=serving.requests,
            tokens_per_s=serving.tokens_per_s,
            acceptance=serving.acceptance,
            idle_unload_s=_finite(self._config.idle_unload_minutes * 60),
            idle_exit_s=_finite(self._idle_exit_s),
            api=self._agents.status(),
        )

    @property
    def _idle_exit_s(self) -> float:
        """Agents cannot start the daemon: one that serves them stays."""
        return math.inf if self._config.api_port else self._config.idle_exit_minutes * 60

    async def _watch_idleness(self) -> None:
        """Unload the model, then exit, when nobody asks for long; by a clock that never jumps."""
        unload_s = self._config.idle_unload_minutes * 60
        exit_s = self._idle_exit_s
        period = min(_LONGEST_PERIOD_S, max(_SHORTEST_PERIOD_S, min(unload_s, exit_s) / 4))
        while True:
            await asyncio.sleep(period)
            logs.bound_error_output()
            if self._gate.idle_s() >= exit_s:
                _log.info("no client for %.0f minutes", exit_s / 60)
                self.stop()
                return
            serving = self._service.snapshot()
            if serving.model is None or serving.idle_since is None:
                continue
            if time.monotonic() - serving.idle_since >= unload_s:
                _log.info("no request for %.0f minutes: the model leaves memory", unload_s / 60)
                await asyncio.to_thread(self._service.unload)
                self._api.last.forget()

    async def _stop_service(self) -> bool:
        """Stop the service; where it takes long, tell its clients without it, and return False."""
        # Not asyncio.to_thread: the event loop could not end while such a thread runs.
        stopping = threading.Thread(target=self._service.stop, daemon=True)
        stopping.start()
        deadline = time.monotonic() + STOP_GRACE_S
        while stopping.is_alive() and time.monotonic() < deadline:
            await asyncio.sleep(_SHORTEST_PERIOD_S)
        if stopping.is_alive():
            self._api.desk.end_all(Cancelled("the daemon is stopping", "run the command again"))
        return not stopping.is_alive()


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None
