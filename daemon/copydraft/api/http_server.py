"""uvicorn as the daemon needs it: silent, and ended by the daemon alone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp


class HttpServer(uvicorn.Server):
    """Serves `app` on the sockets that `serve` is given, until `end`."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=1,
            )
        )
        self._ended = asyncio.Event()

    def end(self) -> None:
        self._ended.set()

    async def main_loop(self) -> None:
        """Wait for the end without uvicorn's ten looks a second."""
        await self._ended.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: uvicorn would raise them again and kill us before we clean up."""
        yield
