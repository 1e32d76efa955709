"""How the measuring of the overhead ends; the measuring itself takes a real model."""

from __future__ import annotations

from pathlib import Path

import pytest

import measure_overhead


def test_the_daemon_is_stopped_when_measuring_fails(
    monkeypatch: pytest.MonkeyPatch, dense_model: Path
) -> None:
    stopped = []

    async def fail(*_: object) -> None:
        raise AssertionError("no result")

    async def stop() -> None:
        stopped.append(True)

    monkeypatch.setattr(measure_overhead, "bare_loop", lambda *_: None)
    monkeypatch.setattr(measure_overhead, "through_daemon", fail)
    monkeypatch.setattr(measure_overhead, "stop_daemon", stop)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setattr("sys.argv", ["overhead", "--model", str(dense_model)])
    with pytest.raises(AssertionError, match="no result"):
        measure_overhead.main()
    assert stopped == [True]
