"""A sample of scripts/fuzz_lsp.py."""

from __future__ import annotations

import pytest

import fuzz_lsp
from copydraft_lsp.__main__ import make_server


@pytest.mark.parametrize("encoding", fuzz_lsp.ENCODINGS)
def test_the_server_has_the_clients_text_after_any_changes(encoding: str) -> None:
    server = make_server()
    for seed in range(100):
        for here, there in fuzz_lsp.sequence(server, seed, encoding):
            assert here == there, f"seed {seed}"


def test_changes_leave_nothing_behind() -> None:
    server = make_server()
    for _ in fuzz_lsp.sequence(server, 1, "utf-16"):
        assert server.protocol._request_futures == {}
