"""`python -m copydraft.evaluation`: what the measuring scripts run."""

from __future__ import annotations

import logging
import sys

import click

from copydraft.errors import CopydraftError
from copydraft.evaluation.ablation_command import ablation_command
from copydraft.evaluation.bench import bench_command
from copydraft.evaluation.commands import (
    learn_command,
    mine_command,
    record_command,
    replay_command,
)


@click.group(
    commands=[
        replay_command,
        ablation_command,
        bench_command,
        mine_command,
        record_command,
        learn_command,
    ]
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
