"""What `./scripts/run` shows without arguments: one edit of a sample file, plain and drafted.

The sample itself stays as it is; the edit is only shown.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rich.table import Table

from copydraft import ask, cli, config, terminal, terminal_models, terminal_reports
from copydraft.errors import CopydraftError
from copydraft.protocol import EditRequest, EditResult, Generation

ROOT = Path(__file__).parents[1]
SAMPLE = Path("scripts/sample/inventory.py")
LINES = "11:61"
INSTRUCTION = "Add type hints to the parameters and results of all methods."

NEXT = """
Now with files of yours:
  ./scripts/run edit FILE --lines 10:40 -i "what to do"     (--write puts it into the file)
  ./scripts/run explain FILE --lines 10:40
  ./scripts/run --help
"""


def main() -> None:
    os.chdir(ROOT)
    out = terminal.stdout()
    model = terminal_models.ready(config.load().model)
    terminal.say(out, f"{model} edits lines {LINES} of {SAMPLE}: {INSTRUCTION}\n")
    target = ask.Target.read(SAMPLE, LINES)
    # Plain first: loading the model and reading the prompt come before its first token.
    plain = edit(target, "1 of 2, plainly", Generation(model=model, draft=False))
    drafted = edit(target, "2 of 2, with drafts", Generation(model=model))
    terminal.print_diff(drafted.diff, out)
    out.print("", comparison(plain, drafted))
    ratio = drafted.stats.tokens_per_s / max(plain.stats.tokens_per_s, 1e-9)
    same = (
        "both texts are the same"
        if drafted.text == plain.text
        else "the texts differ, where two tokens were nearly tied (--strict decodes those alone)"
    )
    terminal.say(out, f"\n{ratio:.1f} times as fast; {same}.")
    terminal.say(out, "Only the writing is timed: the second run found the prompt read already.")
    terminal.say(out, NEXT)


def edit(target: ask.Target, title: str, generation: Generation) -> EditResult:
    request = EditRequest(region=target.region, instruction=INSTRUCTION, generation=generation)
    console = terminal.stderr()
    terminal.say(console, title)
    with terminal.progress(console) as progress:
        return ask.run(lambda client: client.edit(request), EditResult, progress.show)


def comparison(plain: EditResult, drafted: EditResult) -> Table:
    table = terminal_reports.table("", ">tokens", ">passes", ">copied", ">seconds", ">tokens/s")
    for name, stats in (("plain", plain.stats), ("with drafts", drafted.stats)):
        table.add_row(
            name,
            f"{stats.output_tokens:,}",
            f"{stats.passes:,}",
            f"{stats.copied_tokens / max(1, stats.output_tokens):.0%}",
            f"{stats.decode_ms / 1000:.1f}",
            f"{stats.tokens_per_s:.1f}",
        )
    return table


if __name__ == "__main__":
    try:
        main()
    except CopydraftError as error:
        cli.report(error)
        sys.exit(error.exit_status)
