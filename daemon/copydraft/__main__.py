"""`python -m copydraft` is the command `copydraft`."""

from copydraft.cli import main

main()
