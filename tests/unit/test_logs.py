"""The daemon's log files stay small."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from copydraft import paths
from copydraft.api import logs


@contextlib.contextmanager
def error_output() -> Iterator[int]:
    """File descriptor 2 is the error output file, as a client opens it."""
    paths.make_dir(paths.state_dir())
    saved = os.dup(2)
    with paths.error_output_file().open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield 2
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def test_a_large_error_output_is_begun_anew() -> None:
    with error_output() as descriptor:
        os.write(descriptor, b"x" * 1_000_000)
        logs.bound_error_output()
        os.write(descriptor, b"fresh")
    assert paths.error_output_file().read_bytes() == b"fresh"
    older = paths.error_output_file().with_name("daemon.stderr.log.1")
    assert older.stat().st_size == 1_000_000


def test_a_small_error_output_is_kept() -> None:
    with error_output() as descriptor:
        os.write(descriptor, b"line")
        logs.bound_error_output()
    assert paths.error_output_file().read_bytes() == b"line"
