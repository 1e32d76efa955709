"""A sample of scripts/kill-lsp: whoever is killed, nothing hangs and no process is left."""

from __future__ import annotations

import pytest

import kill_lsp


@pytest.mark.timeout(600)
async def test_ten_kills_of_server_or_daemon_leave_nothing_hanging_and_no_process() -> None:
    report = await kill_lsp.run(10, seed=3)
    assert report["servers"] + report["daemons"] == 10
    assert min(report["servers"], report["daemons"], report["answer"]) > 0
    assert report["left"] == 0
