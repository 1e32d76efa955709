"""Which answer formats the model masters: a few edits in each, and the setting that follows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, get_args

import click
import msgspec
from rich.text import Text

from copydraft import ask, config, paths, terminal, terminal_models
from copydraft.client import Client
from copydraft.errors import AnswerRefused
from copydraft.printable import printable
from copydraft.protocol import EditFormat, EditRequest, EditResult, Generation, Region
from copydraft.terminal_reports import table


class Example(NamedTuple):
    """An edit that leaves no room for taste: there is one right text."""

    path: str
    text: str
    instruction: str
    expected: str

    def request(self, name: EditFormat, generation: Generation) -> EditRequest:
        lines = self.text.count("\n")
        return EditRequest(
            region=Region(path=self.path, text=self.text, start=0, end=lines),
            instruction=self.instruction,
            format=name,
            generation=generation,
        )


EXAMPLES = (
    Example(
        "area.py",
        "def area(w, h):\n    return w * h\n\n\ndef size(w):\n    return w * w\n",
        "Rename the parameter w of area to width, and nothing else",
        "def area(width, h):\n    return width * h\n\n\ndef size(w):\n    return w * w\n",
    ),
    Example(
        "greet.js",
        'function greet(name) {\n  console.log("start");\n  return "Hello, " + name;\n}\n',
        "Remove the call of console.log",
        'function greet(name) {\n  return "Hello, " + name;\n}\n',
    ),
    Example(
        "limits.go",
        "package limits\n\nconst (\n\tSmall = 10\n\tLarge = 500\n)\n",
        "Change Large to 1000",
        "package limits\n\nconst (\n\tSmall = 10\n\tLarge = 1000\n)\n",
    ),
)


class Trial(msgspec.Struct, frozen=True):
    """What became of the examples in one format."""

    format: EditFormat
    examples: int
    applied: int
    """Answers that were an edit of the lines."""
    right: int
    """Of these, the ones that were the edit asked for."""
    output_tokens: int
    """Written for the edits that were applied."""
    faults: list[str]
    """Why the others were no edit."""


def examine(*, as_json: bool) -> int:
    """Try all formats on the model in use, print what came of it; 1 if none works, else 0.

    Raises:
        CopydraftError: the model cannot be run.
    """
    settings = config.load()
    generation = Generation(model=terminal_models.ready(settings.model))
    console = terminal.stderr()
    trials = []
    for name in get_args(EditFormat):
        terminal.say(console, f"trying {name}")
        trials.append(trial(name, generation))
    setting = best(trials)
    if as_json:
        found = {"model": generation.model, "formats": trials, "edit_format": setting}
        click.echo(msgspec.json.encode(found))
    else:
        _print(trials, setting, settings.edit_format)
    return int(setting is None)


def trial(name: EditFormat, generation: Generation) -> Trial:
    """All examples in one format, by the daemon.

    Raises:
        CopydraftError: anything but an answer that is no edit.
    """
    results = []
    faults = []
    with terminal.progress(terminal.stderr()) as progress:
        for example in EXAMPLES:
            request = example.request(name, generation)
            try:
                result = ask.run(partial(Client.edit, request=request), EditResult, progress.show)
            except AnswerRefused as refused:
                faults.append(refused.message)
                continue
            results.append((result, example))
            if not result.diff:
                faults.append("the model left the lines as they are")
    return Trial(
        format=name,
        examples=len(EXAMPLES),
        applied=sum(bool(result.diff) for result, _ in results),
        right=sum(result.text == example.expected for result, example in results),
        output_tokens=sum(result.stats.output_tokens for result, _ in results if result.diff),
        faults=faults,
    )


def best(trials: Sequence[Trial]) -> EditFormat | None:
    """The format with the most right answers; of equals the first. None if there are none."""
    found = max(trials, key=lambda trial: (trial.right, trial.applied))
    return found.format if found.right else None


def _print(trials: Sequence[Trial], setting: EditFormat | None, now: EditFormat) -> None:
    console = terminal.stdout()
    shown = table("format", ">applied", ">right", ">tokens", "first fault")
    for found in trials:
        shown.add_row(
            found.format,
            f"{found.applied}/{found.examples}",
            f"{found.right}/{found.examples}",
            str(found.output_tokens),
            Text(printable(found.faults[0]) if found.faults else ""),  # brackets: no markup
        )
    console.print(shown)
    if setting is None:
        console.print("no format works with this model: use a larger one")
    elif setting == now:
        terminal.say(console, f'best with this model: "{setting}", as it is set')
    else:
        terminal.say(
            console,
            f'best with this model: edit_format = "{setting}" in {paths.config_file()}, '
            "then copydraft daemon restart",
        )
