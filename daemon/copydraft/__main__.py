"""`python -m copydraft` is the command `copydraft`."""

import sys


def main() -> None:
    try:
        from copydraft import cli  # noqa: PLC0415 (see below)
    except KeyboardInterrupt:
        # Imports take a tenth of a second, and only what they bring can tell of faults.
        sys.stderr.write("copydraft: interrupted\n")
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
