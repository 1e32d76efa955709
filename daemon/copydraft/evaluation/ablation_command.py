"""`scripts/ablation`: what each answer format and each corpus brings, as JSON, a table, a plot."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from copydraft.evaluation.ablation import CORPORA, FORMATS, Row, ablation, rows_of
from copydraft.evaluation.curves import curve
from copydraft.evaluation.inputs import Surrounded, sessions_of
from copydraft.evaluation.report import new_table
from copydraft.json_option import json_option

_FILE = click.Path(path_type=Path)


@click.command("ablation")
@click.argument("file", type=_FILE)
@click.option("--gguf", type=_FILE, required=True, help="Model whose tokenizer reads the edits.")
@click.option(
    "--global",
    "libraries",
    type=_FILE,
    multiple=True,
    help="Directory of the global corpus; may be given several times.",
)
@click.option(
    "--formats",
    type=click.Choice(FORMATS),
    multiple=True,
    default=FORMATS,
    show_default=True,
    help="Answer format; may be given several times.",
)
@click.option("--cost", default="flat,cpu", show_default=True, metavar="A,B", help="As in replay.")
@click.option("--plot", type=_FILE, help="Draw it, as SVG (needs matplotlib).")
@json_option
def ablation_command(
    file: Path,
    gguf: Path,
    libraries: tuple[Path, ...],
    formats: tuple[str, ...],
    cost: str,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Replay sessions or edit tasks (FILE.jsonl) without each corpus, and from raw text."""
    curves = {name: curve(name, 64) for name in cost.split(",")}
    chosen = [name for name in FORMATS if name in formats]
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("indexing, then replaying", total=rows_of(chosen, curves))
        surrounded = Surrounded(gguf, *sessions_of(file), libraries)
        rows = ablation(surrounded, chosen, curves, partial(progress.advance, bar))
    if plot is not None:
        # Heavy, and a tool of development: users do not have it.
        from copydraft.evaluation.plots import draw_formats  # noqa: PLC0415

        draw_formats(rows, plot)
    if as_json:
        click.echo(json.dumps([row._asdict() for row in rows]))
        return
    _print(rows)


def _print(rows: list[Row]) -> None:
    numbers = ["tok/pass", "speedup", "workspace\ntokens", "global\ntokens"]
    table = new_table("what each part brings", ["format", "text", "corpora", "costs"], numbers)
    for row in rows:
        table.add_row(
            row.format,
            row.text,
            row.corpora if row.corpora == CORPORA[0] else f"+ {row.corpora}",
            row.curve,
            f"{row.tokens_per_pass:.2f}",
            f"{row.speedup:.2f}",
            *(str(row.accepted.get(corpus, 0)) for corpus in ("workspace", "global")),
        )
    Console().print(table)
