"""How a soak is judged; the soak itself takes a real model."""

from __future__ import annotations

from pathlib import Path

import pytest

import soak_daemon


def run(monkeypatch: pytest.MonkeyPatch, model: Path, *, later_mb: float, requests: int) -> None:
    async def soak(*_: object) -> dict[str, float]:
        return {"first_half_mb": 100.0, "second_half_mb": later_mb}

    monkeypatch.setattr(soak_daemon, "soak", soak)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setattr("sys.argv", ["soak", "--model", str(model), "--requests", str(requests)])
    soak_daemon.main()


def test_memory_that_stays_about_the_same_is_well(
    monkeypatch: pytest.MonkeyPatch, dense_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, dense_model, later_mb=105.0, requests=20)
    assert capsys.readouterr().out == '{"first_half_mb": 100.0, "second_half_mb": 105.0}\n'


def test_memory_that_grows_is_a_failure(monkeypatch: pytest.MonkeyPatch, dense_model: Path) -> None:
    with pytest.raises(SystemExit, match="memory grew by more than 5%"):
        run(monkeypatch, dense_model, later_mb=105.1, requests=20)


def test_requests_without_two_halves_to_compare_are_too_few(
    monkeypatch: pytest.MonkeyPatch, dense_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        run(monkeypatch, dense_model, later_mb=100.0, requests=19)
    assert refused.value.code == 2
    assert "--requests has to be 20 or more" in capsys.readouterr().err


async def test_the_daemon_is_stopped_when_a_request_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    client = _Client()

    async def connect() -> _Client:
        return client

    async def fail(*_: object) -> None:
        raise AssertionError("no result")

    monkeypatch.setattr("soak_daemon.Client.connect", connect)
    monkeypatch.setattr(soak_daemon, "one", fail)
    with pytest.raises(AssertionError, match="no result"):
        await soak_daemon.soak("model", 20, seed=1)
    assert client.stopped


class _Client:
    resident_bytes = 1_000_000
    stopped = False

    async def __aenter__(self) -> _Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def status(self) -> _Client:
        return self

    async def stop(self) -> None:
        self.stopped = True
