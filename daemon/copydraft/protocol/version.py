"""The version of the wire messages, and the fault of speaking different ones."""

from __future__ import annotations

from copydraft.errors import VersionMismatch

PROTOCOL_VERSION = 2
"""Raised whenever an old client and a new daemon, or the reverse, could misunderstand."""

VERSION_HEADER = "Copydraft-Protocol"
"""Every request and every response carries the version of its sender under this name."""


def version_mismatch(*, client: int, daemon: int) -> VersionMismatch:
    """The fault of a client and a daemon that speak different versions of this protocol."""
    return VersionMismatch(
        f"this client speaks version {client} of the protocol, the daemon version {daemon}",
        "the daemon is older: run `copydraft daemon restart`"
        if daemon < client
        else "the client is older: update copydraft there, then restart the editor",
    )
