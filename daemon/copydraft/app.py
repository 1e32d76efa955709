"""Composition root of the daemon: builds the parts and joins them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from copydraft import paths
from copydraft.api import process
from copydraft.config import Config
from copydraft.engine.bulk import index_tokenizer
from copydraft.index.corpora import Corpora
from copydraft.index.printings import printings_for
from copydraft.index.store import StateStore
from copydraft.serving.scheduler import Scheduler
from copydraft.serving.workspaces import Workspaces
from copydraft.workspace.edits import RecentEdits


def run_daemon(config: Config) -> None:
    """Be this user's daemon until a client, a signal or long idleness ends it.

    Raises:
        DaemonUnavailable: there is a daemon already; the message names it.
        DiskProblem: the lock or the socket cannot be made.
    """

    def corpora(model: Path, escaped: bool, edits: Callable[[Path], RecentEdits]) -> Corpora:
        return Corpora(
            paths.index_database(),
            partial(index_tokenizer, model),
            printings_for(config.edit_format, escaped=escaped, agents=config.api_port != 0),
            additions_file=paths.global_directories_file(),
            edits=edits,
        )

    def scheduler(store: StateStore) -> Scheduler:
        return Scheduler(
            config,
            record=store.record,
            costs=store,
            profiles=store,
            workspaces=Workspaces(corpora),
        )

    process.run(config, scheduler)
