"""`python -m copydraft.evaluation`: what the measuring scripts run."""

from __future__ import annotations

import errno
import logging
import sys
from typing import Any

import click

from copydraft.errors import CopydraftError, DiskProblem
from copydraft.evaluation.ablation_command import ablation_command
from copydraft.evaluation.bench import bench_command
from copydraft.evaluation.commands import (
    learn_command,
    mine_command,
    record_command,
    replay_command,
)


class _Group(click.Group):
    """Tells of an output that cannot be written as of any other fault."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except click.FileError as error:
            what = f"cannot write {error.ui_filename}: {error.message}"
            raise DiskProblem(what, "name another --out") from error
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise DiskProblem(f"cannot write: {error.strerror}", "free some space") from error


@click.group(
    cls=_Group,
    commands=[
        replay_command,
        ablation_command,
        bench_command,
        mine_command,
        record_command,
        learn_command,
    ],
)
def main() -> None:
    """Measure drafters without a daemon."""
    logging.getLogger("copydraft").setLevel(logging.ERROR)  # llama.cpp's remarks on vocabularies


if __name__ == "__main__":
    try:
        main()
    except CopydraftError as fault:
        click.echo(f"copydraft: {fault.message}", err=True)
        if fault.hint:
            click.echo(f"  → {fault.hint}", err=True)
        sys.exit(fault.exit_status)
