"""The command `copydraft-lsp`: a language server on stdin and stdout, for one editor."""

from __future__ import annotations

import argparse
import errno
import logging
import os
import sys

from copydraft import __version__
from copydraft_lsp.features import actions, complete, control, edit, explain, prepare, session
from copydraft_lsp.server import CopydraftServer


def make_server() -> CopydraftServer:
    """A server with all its features, connected to nothing yet."""
    server = CopydraftServer()
    for feature in (session, edit, explain, prepare, complete, control, actions):
        feature.register(server)
    return server


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: 1 to 65535")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(
        "copydraft-lsp", description="copydraft's language server; editors start it"
    )
    parser.add_argument("--version", action="version", version=f"copydraft-lsp {__version__}")
    parser.add_argument(
        "--tcp",
        type=_port,
        metavar="PORT",
        help="serve one editor on a port of this machine, for debugging",
    )
    arguments = parser.parse_args()
    debugging = bool(os.environ.get("COPYDRAFT_DEBUG"))
    # On stderr, which editors keep as the server's log. pygls logs every refused request with a
    # traceback as if it were a fault; those that are none of ours are logged by `faults.answered`.
    logging.basicConfig(level=logging.DEBUG if debugging else logging.WARNING)
    if not debugging:
        logging.getLogger("pygls").setLevel(logging.CRITICAL)
    server = make_server()
    if arguments.tcp is None:
        server.start_io()
    else:
        try:
            server.start_tcp("127.0.0.1", arguments.tcp)
        except OSError as error:
            # asyncio puts the address, twice, into the error's own text.
            why = os.strerror(error.errno or errno.EIO)
            sys.exit(f"copydraft-lsp: cannot serve on port {arguments.tcp}: {why} (name another)")
        except KeyboardInterrupt:
            sys.exit(130)
    sys.exit(0 if server.was_shut_down else 1)


if __name__ == "__main__":
    main()
