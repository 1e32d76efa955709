"""Records the screen of a real Neovim while an edit streams into it, as an SVG.

    ./scripts/record-neovim docs/neovim.svg [--model NAME]

The sample file is copied and edited there. The screen is kept at the last moment before the edit
is complete, so that the preview is seen half-way; Neovim draws it itself, by its protocol for
user interfaces (`:help ui-linegrid`).
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import tempfile
import time
from itertools import groupby
from pathlib import Path
from typing import Any

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.style import Style
from rich.text import Text

from copydraft.models import library
from tests.fixtures.neovim import Neovim, binaries, neovim

SAMPLE = Path(__file__).parent / "sample" / "inventory.py"
INSTRUCTION = "Add type hints to the parameters and results of all methods."
COLUMNS, ROWS = 96, 34

# Without the fonts that rich would have a viewer fetch from another host.
_FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


class Screen:
    """What Neovim shows: cells of text and the number of their highlight."""

    def __init__(self, vim: Neovim) -> None:
        self._cells = [[(" ", 0)] * COLUMNS for _ in range(ROWS)]
        self._highlights: dict[int, dict[str, Any]] = {}
        self._default = (0xFFFFFF, 0)
        vim.notified = self._notified
        vim.request("nvim_ui_attach", COLUMNS, ROWS, {"rgb": True, "ext_linegrid": True})

    def lines(self) -> list[Text]:
        """The screen now."""
        found = []
        for row in self._cells:
            line = Text(end="")
            for style, cells in groupby(row, lambda cell: self._style(cell[1])):
                line.append("".join(text for text, _ in cells), style)
            found.append(line)
        return found

    def _notified(self, method: str, batches: list[Any]) -> None:
        for name, *events in batches if method == "redraw" else ():
            for event in events:
                if handler := getattr(self, f"_on_{name}", None):
                    handler(*event)

    def _on_default_colors_set(self, front: int, back: int, *_: Any) -> None:
        self._default = (front, back)

    def _on_hl_attr_define(self, number: int, attributes: dict[str, Any], *_: Any) -> None:
        self._highlights[number] = attributes

    def _on_grid_clear(self, _: int) -> None:
        self._cells = [[(" ", 0)] * COLUMNS for _ in range(ROWS)]

    def _on_grid_line(self, _: int, row: int, column: int, cells: list[Any], *__: Any) -> None:
        number = 0
        for text, *more in cells:
            number = more[0] if more else number
            for _ in range(more[1] if len(more) > 1 else 1):
                self._cells[row][column] = (text, number)
                column += 1

    def _on_grid_scroll(
        self, _: int, top: int, bottom: int, left: int, right: int, rows: int, __: int
    ) -> None:
        span = range(top, bottom - rows) if rows > 0 else range(bottom - 1, top - rows - 1, -1)
        for row in span:
            self._cells[row][left:right] = self._cells[row + rows][left:right]

    def _style(self, number: int) -> Style:
        attributes = self._highlights.get(number, {})
        front = attributes.get("foreground", self._default[0])
        back = attributes.get("background", self._default[1])
        if attributes.get("reverse"):
            front, back = back, front
        return Style(
            color=f"#{front:06x}",
            bgcolor=f"#{back:06x}" if back != self._default[1] else None,
            bold=attributes.get("bold"),
            italic=attributes.get("italic"),
        )


def record(model: str, newest: Path) -> list[Text]:
    """The screen when the edit is shown in part for the last time."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / SAMPLE.name
        shutil.copy(SAMPLE, file)
        with neovim(newest, model=str(library.resolve(model))) as vim:
            vim.command("set number noswapfile laststatus=0 termguicolors | colorscheme habamax")
            screen = Screen(vim)
            vim.open(file)
            vim.command("normal! 11Gzt")
            vim.command(f"11,61CopydraftEdit {INSTRUCTION}")
            shown = screen.lines()
            while not vim.lua("return #shown > 0"):
                if len(vim.preview[1]) > 0:
                    shown = screen.lines()
                time.sleep(0.05)
            print(vim.lua("return shown"))
            return shown


def as_svg(lines: list[Text]) -> str:
    console = Console(
        record=True,
        width=COLUMNS,
        file=io.StringIO(),
        color_system="truecolor",
        force_terminal=True,
    )
    for line in lines:
        console.print(line, end="\n", soft_wrap=True)
    return console.export_svg(title=f"nvim {SAMPLE.name}", code_format=_FORMAT, unique_id="neovim")


def main() -> None:
    parser = argparse.ArgumentParser(description="records an edit in Neovim as an SVG")
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    arguments = parser.parse_args()
    lines = record(arguments.model, list(binaries().values())[-1])
    arguments.out.write_text(as_svg(lines), "utf-8")


if __name__ == "__main__":
    main()
