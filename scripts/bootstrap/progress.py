"""One line that says how far a long step is."""

from __future__ import annotations

import os
import shutil
import sys
from time import monotonic
from typing import TextIO

_PAUSE = 5.0


class Progress:
    """Rewrites its line on a terminal; elsewhere prints a line for every tenth part.

    Tenths that follow each other within a few seconds are left out.
    """

    def __init__(self, title: str, stream: TextIO | None = None) -> None:
        self._title = title
        self._stream = stream or sys.stderr
        self._rewrites = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._started = monotonic()
        self._tenths = 0
        self._printed = self._started
        if not self._rewrites:
            self._print(f"{title} …\n")

    def show(self, done: int, total: int) -> None:
        """`done` of `total` parts are ready; a total of 0 is not yet known."""
        if self._rewrites:
            share = f"{done * 100 // total:3d} %" if total else "     "
            line = f"{self._title}  {share}  {self._elapsed()}"
            self._print("\r\x1b[2K" + line[: shutil.get_terminal_size().columns - 1])
        elif total and done * 10 // total > self._tenths and self._printed + _PAUSE < monotonic():
            self._tenths = done * 10 // total
            self._printed = monotonic()
            self._print(f"  {self._tenths * 10} %, {self._elapsed()}\n")

    def end(self, outcome: str) -> None:
        self._print("\r\x1b[2K" if self._rewrites else "")
        self._print(f"{self._title}: {outcome}, {self._elapsed()}\n")

    def _elapsed(self) -> str:
        minutes, seconds = divmod(int(monotonic() - self._started), 60)
        return f"{minutes}:{seconds:02d}"

    def _print(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
