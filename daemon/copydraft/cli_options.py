"""Options that several commands have."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from copydraft.protocol import Generation

# Everything else is imported when it is asked for: `--help` and `status` must answer at once.
# ruff: noqa: PLC0415

F = TypeVar("F", bound=Callable[..., Any])

model_option = click.option("--model", default="", help="Model by name or path of a .gguf.")
file_argument = click.argument("file", type=click.Path(path_type=Path))
lines_option = click.option(
    "--lines",
    default=":",
    metavar="A:B",
    help="Lines to work on, counted from 1, both ends included: A:B, A, A: or :B. "
    "Without it, the whole file.",
)


class _Number(click.FloatRange):
    """A range of numbers. Whatever a range is, click lets "nan" pass."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


_GENERATION: list[Callable[[Any], Any]] = [
    model_option,
    click.option("--no-draft", is_flag=True, help="Decode plainly, for comparison."),
    click.option(
        "--strict", is_flag=True, help="Settle near ties by plain decoding: exactly its text."
    ),
    click.option(
        "--temperature",
        type=_Number(0, 5),
        default=0.0,
        show_default=True,
        help="0 picks the likeliest token, higher values vary more.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help="Random seed where the temperature is above 0.",
    ),
]


def with_generation(command: F) -> F:
    """All that `generation` takes."""
    for option in reversed(_GENERATION):
        command = option(command)
    return command


def generation_of(
    model: str, no_draft: bool, strict: bool, temperature: float, seed: int
) -> Generation:
    """How a request is decoded; asks to pull the model where it is not there."""
    from copydraft import config, terminal_models
    from copydraft.protocol import Generation, Sampling

    settings = config.load({"model": model or None, "strict": strict or None})
    return Generation(
        model=terminal_models.ready(settings.model),
        sampling=Sampling(temperature=temperature, seed=seed),
        draft=not no_draft,
        strict=settings.strict,
    )
