"""What tests of single parts share."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


@pytest.fixture
def shut(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Takes the right to look into directories of a name; root has it whatever their mode is."""
    stat, listdir = os.stat, os.listdir

    def take(name: str) -> None:
        def refused(directory: Path) -> None:
            if directory.name == name:
                raise PermissionError(errno.EACCES, "Permission denied")

        def no_stat(path: Any, **options: Any) -> os.stat_result:
            if isinstance(path, Path):
                refused(path.parent)
            return stat(path, **options)

        def no_listdir(path: Any = ".") -> list[str]:
            if isinstance(path, Path):
                refused(path)
            return listdir(path)

        monkeypatch.setattr(os, "stat", no_stat)
        monkeypatch.setattr(os, "listdir", no_listdir)

    return take
