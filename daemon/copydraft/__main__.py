"""`python -m copydraft` is the command `copydraft`."""

import sys

try:
    from copydraft.cli import main
except KeyboardInterrupt:
    # Imports take a tenth of a second, and only what they bring can tell of faults.
    sys.stderr.write("copydraft: interrupted\n")
    sys.exit(130)

main()
