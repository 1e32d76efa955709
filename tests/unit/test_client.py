"""What the client costs before it does anything."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_client_loads_no_part_of_the_daemon() -> None:
    program = "import sys, copydraft.client; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    heavy = {"starlette", "uvicorn", "sqlite3", "sqlite_utils", "numpy", "llama_cpp", "jinja2"}
    assert heavy & set(ran.stdout.split()) == set()
