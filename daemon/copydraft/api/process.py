"""The daemon's process: its log, its place, its signals, its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable

from copydraft import __version__, paths
from copydraft.api import lifecycle, logs
from copydraft.api.server import Daemon
from copydraft.config import Config
from copydraft.index.store import StateStore
from copydraft.serving.service import Service

_log = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run(config: Config, make_service: Callable[[StateStore], Service]) -> None:
    """Be this user's daemon until a client, a signal or long idleness ends it.

    Raises:
        DaemonUnavailable: there is a daemon already; the message names it.
        DiskProblem: the lock or the socket cannot be made.
    """
    with lifecycle.place() as listener:
        logs.set_up(config.log_level)
        _log.info("copydraft %s is process %d", __version__, os.getpid())
        with contextlib.closing(StateStore(paths.state_database())) as store:
            service = make_service(store)
            stopped = asyncio.run(_serve(Daemon(config, service, store, listener)))
    _log.info("process %d has stopped", os.getpid())
    if not stopped:
        # Its thread would keep the process; the system frees what it holds.
        logging.shutdown()
        os._exit(1)


async def _serve(daemon: Daemon) -> bool:
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, daemon.stop)
    try:
        return await daemon.serve()
    except Exception:
        _log.critical("the daemon failed", exc_info=True)
        return False
