"""The real language server, which starts the fake daemon."""

from __future__ import annotations

import sys
from pathlib import Path

from copydraft import launch
from copydraft_lsp.__main__ import main

_DAEMON = str(Path(__file__).with_name("fake_daemon.py"))
launch.COMMAND = (sys.executable, _DAEMON)  # type: ignore[assignment]  # as many words as it has

if __name__ == "__main__":
    main()
