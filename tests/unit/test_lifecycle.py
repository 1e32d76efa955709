"""The daemon's place: its lock and its socket."""

from __future__ import annotations

import os
import socket

import pytest

from copydraft import paths
from copydraft.api import lifecycle
from copydraft.errors import DaemonUnavailable, DiskProblem


def test_the_holder_writes_itself_into_the_lock() -> None:
    with lifecycle.place():
        assert lifecycle.holder() == lifecycle.Holder(os.getpid(), "0.1.0")
        assert lifecycle.is_held(paths.lock_path())


def test_the_place_is_free_again_after_use_and_the_lock_file_stays() -> None:
    with lifecycle.place():
        pass
    assert not lifecycle.is_held(paths.lock_path())
    assert paths.lock_path().exists()
    assert not paths.socket_path().exists()
    with lifecycle.place():
        pass


def test_only_one_may_have_the_place() -> None:
    with lifecycle.place():
        with pytest.raises(DaemonUnavailable, match="a copydraft daemon is running already"):
            lifecycle.place().__enter__()
        assert paths.socket_path().exists()


def test_a_socket_left_by_a_killed_daemon_is_replaced() -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(paths.socket_path()))
    with lifecycle.place(), socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(paths.socket_path()))


def test_a_lock_never_made_is_not_held() -> None:
    assert not lifecycle.is_held(paths.lock_path())
    assert lifecycle.holder() is None


def test_a_lock_file_with_other_content_names_nobody() -> None:
    paths.lock_path().write_text("nonsense")
    assert lifecycle.holder() is None
    with lifecycle.place():
        assert lifecycle.holder() == lifecycle.Holder(os.getpid(), "0.1.0")


def test_a_directory_in_the_place_of_the_lock_is_told() -> None:
    paths.lock_path().mkdir()
    with pytest.raises(DiskProblem, match=r"daemon\.lock: Is a directory"):
        lifecycle.place().__enter__()
