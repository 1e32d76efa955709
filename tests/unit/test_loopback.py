"""Names under which a port of the loopback device is asked."""

from __future__ import annotations

import pytest

from copydraft.api import loopback


@pytest.mark.parametrize(
    ("number", "hosts"),
    [
        (8137, ("127.0.0.1:8137", "localhost:8137")),
        (80, ("127.0.0.1", "localhost", "127.0.0.1:80", "localhost:80")),
    ],
)
def test_the_port_of_http_may_be_left_out(number: int, hosts: tuple[str, ...]) -> None:
    """Clients do so."""
    assert loopback.hosts_of(number) == hosts
