"""The key of coding agents: its file, and who may read it."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

import pytest

from copydraft import paths
from copydraft.api import api_key
from copydraft.errors import DiskProblem


def test_there_is_no_key_until_one_is_needed() -> None:
    assert api_key.read() == ""
    assert not paths.api_key_file().exists()


def test_a_key_is_made_once() -> None:
    key = api_key.ensure()
    assert re.fullmatch(r"sk-copydraft-[\w-]{43}", key)
    assert api_key.ensure() == api_key.read() == key


def test_a_new_key_takes_the_place_of_the_old_one() -> None:
    old = api_key.ensure()
    new = api_key.renew()
    assert new != old
    assert api_key.read() == new


def test_only_its_user_may_read_the_file_whatever_the_umask_is() -> None:
    before = os.umask(0)
    try:
        for make in (api_key.ensure, api_key.renew):
            make()
            assert stat.S_IMODE(paths.api_key_file().stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_nothing_else_is_left_in_the_directory() -> None:
    api_key.ensure()
    api_key.renew()
    assert [path.name for path in paths.state_dir().iterdir()] == ["api-key"]


def test_of_two_programs_that_make_a_key_at_once_both_have_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other one made its key after this one had looked."""
    others = api_key.ensure()
    found = iter(["", others])
    with monkeypatch.context() as patch:
        patch.setattr(api_key, "read", lambda: next(found))
        assert api_key.ensure() == others
    assert api_key.read() == others


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_key_that_others_may_read_is_refused_and_another_can_be_made(mode: int) -> None:
    old = api_key.ensure()
    paths.api_key_file().chmod(mode)
    for use in (api_key.read, api_key.ensure):
        with pytest.raises(DiskProblem, match="others may read the key") as refused:
            use()
        assert refused.value.hint == "`copydraft api on --new-key` makes another"
    assert api_key.renew() != old
    assert stat.S_IMODE(paths.api_key_file().stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"\n", b"password", b"sk-copydraft-\xff"])
def test_a_file_that_holds_no_key_is_refused(content: bytes) -> None:
    api_key.ensure()
    paths.api_key_file().write_bytes(content)
    with pytest.raises(DiskProblem, match="holds no key"):
        api_key.read()


def test_a_directory_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(DiskProblem, match=r"cannot write .*api-key: No space left on device"):
        api_key.ensure()
    assert not Path(paths.api_key_file()).exists()
