"""What the tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.fake_client import FakeClient, playing


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> type[FakeClient]:
    return playing(monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("a\nb\nc\n")
    return path
