"""Tells when files below a root change, in a thread of its own.

Changes come in groups, a short time after the last of them. Where the system cannot watch (too
many directories, a network drive), the whole root is reported now and then instead.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import watchfiles

if TYPE_CHECKING:
    from collections.abc import Iterator

_log = logging.getLogger(__name__)

_DEBOUNCE_MS = 500
_STEP_MS = 50
_RETRY_S = 60.0

OnChange = Callable[[set[Path]], None]
"""Gets absolute paths of files and directories; the root itself for "anything may have changed"."""


class _Below(watchfiles.DefaultFilter):
    """Leaves out environments and the like below a root, wherever the root itself is."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._above = str(root)

    def __call__(self, change: watchfiles.Change, path: str) -> bool:
        return super().__call__(change, path.removeprefix(self._above))


class Watcher:
    """Watches from `start` to `stop`."""

    def __init__(self, root: Path, on_change: OnChange, *, retry_s: float = _RETRY_S) -> None:
        self._root = root
        self._on_change = on_change
        self._retry_s = retry_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watcher {root.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Stop soon."""
        self._stopped.set()

    def stop(self) -> None:
        """Returns when no further change will be told, which may take half a second."""
        self.end()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        told = False
        while not self._stopped.is_set():
            try:
                for changed in self._watched():
                    self._tell(changed)
            except Exception as error:
                # The library's faults are of many kinds: OSError, FileNotFoundError, its own.
                if not told:
                    _log.warning(
                        "cannot watch %s (%s): looking again every %d s",
                        *(self._root, error, self._retry_s),
                    )
                    told = True
            # What happened between two watches was seen by neither.
            if not self._stopped.wait(self._retry_s):
                self._tell({self._root})

    def _watched(self) -> Iterator[set[Path]]:
        for changes in watchfiles.watch(
            self._root,
            watch_filter=_Below(self._root),
            stop_event=self._stopped,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            rust_timeout=500,
            raise_interrupt=False,
        ):
            yield {Path(path) for _, path in changes}

    def _tell(self, changed: set[Path]) -> None:
        try:
            self._on_change(changed)
        except Exception:
            _log.exception("a change below %s was not taken in", self._root)
