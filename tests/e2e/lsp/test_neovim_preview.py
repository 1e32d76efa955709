"""What of an edit is on the screen of a real Neovim."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.lsp.conftest import TEXT
from tests.fixtures.neovim import Neovim


def test_the_preview_shows_what_is_written_so_far(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.lua("""
        local set = vim.api.nvim_buf_set_extmark
        seen = {}
        vim.api.nvim_buf_set_extmark = function(...)
          table.insert(seen, #((select(5, ...)).virt_lines or {}))
          return set(...)
        end
    """)
    vim.command("1CopydraftEdit echo \na=2\nx=3\n more")
    vim.until_shown(":CopydraftAccept")
    assert vim.lua("return seen")[:2] == [0, 2]


def test_lines_that_come_before_the_first_are_on_the_screen(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("1CopydraftEdit echo import x\nimport y\na = 1\n")
    vim.until_shown(":CopydraftAccept")
    assert vim.screen[:4] == ["import x", "import y", "a = 1", "b = 1"]
    vim.command("CopydraftReject")
    assert vim.screen[:2] == ["a = 1", "b = 1"]


def test_so_are_those_before_the_first_that_a_window_shows(vim: Neovim, file: Path) -> None:
    file.write_bytes(TEXT + b"d = 1\n" * 50)
    vim.open(file)
    vim.type("2Gzt")
    vim.until("return vim.fn.line('w0') == 2")
    vim.command("2CopydraftEdit echo x = 1\nb = 1\n")
    vim.until_shown(":CopydraftAccept")
    assert vim.screen[:2] == ["x = 1", "b = 1"]


def test_a_fold_above_the_edit_hides_none_of_it(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("set foldmethod=manual | 1,2fold")
    vim.command("3CopydraftEdit echo x = 1\nc = 1\n")
    vim.until_shown(":CopydraftAccept")
    assert vim.screen[1:3] == ["x = 1", "c = 1"]


def test_of_more_of_them_than_the_screen_holds_the_last_are_seen(vim: Neovim, file: Path) -> None:
    vim.open(file)
    many = "".join(f"import x{number}\n" for number in range(50))
    vim.command(f"1CopydraftEdit echo {many}a = 1\n")
    vim.until_shown(":CopydraftAccept")
    assert vim.screen[25:28] == ["import x48", "import x49", "a = 1"]


def test_a_window_that_shows_other_lines_stays_where_it_is(vim: Neovim, file: Path) -> None:
    file.write_bytes(TEXT + b"d = 1\n" * 50)
    vim.open(file)
    vim.type("Gzt")
    vim.until("return vim.fn.line('w0') == 53")
    vim.command("1CopydraftEdit echo import x\na = 1\n")
    vim.until_shown(":CopydraftAccept")
    assert vim.lua("return vim.fn.line('w0')") == 53


def test_a_fold_around_the_edit_is_opened(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("set foldmethod=manual | 1,3fold")
    vim.command("split")
    vim.command("2CopydraftEdit echo b = 2\n")
    vim.until_shown(":CopydraftAccept")
    assert vim.screen.count("b = 2") == 2
    assert vim.lua("return vim.fn.foldclosed(2)") == -1


def test_a_line_that_is_wider_than_the_narrowest_window_is_seen_whole(
    vim: Neovim, file: Path
) -> None:
    vim.open(file)
    vim.command("vsplit | vertical resize 30 | set number")
    vim.command("2CopydraftEdit echo b = '" + "0123456789" * 5 + "é中'\n")
    vim.until_shown(":CopydraftAccept")
    assert [row.split("│")[0].rstrip() for row in vim.screen[1:5]] == [
        "  2 b = 1",
        "    b = '012345678901234567890",
        "    12345678901234567890123456",
        "    789é中'",
    ]
