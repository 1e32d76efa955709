"""Composition root of the daemon: builds the parts and joins them."""

from __future__ import annotations

from copydraft.api import process
from copydraft.config import Config
from copydraft.serving.scheduler import Scheduler


def run_daemon(config: Config) -> None:
    """Be this user's daemon until a client, a signal or long idleness ends it.

    Raises:
        DaemonUnavailable: there is a daemon already; the message names it.
        DiskProblem: the lock or the socket cannot be made.
    """
    process.run(
        config,
        lambda store: Scheduler(config, record=store.record, costs=store, profiles=store),
    )
