"""The real language server, which starts the fake daemon."""

from __future__ import annotations

import sys
from pathlib import Path

from copydraft import launch
from copydraft_lsp.__main__ import main

launch.COMMAND = (sys.executable, str(Path(__file__).with_name("fake_daemon.py")))

if __name__ == "__main__":
    main()
