"""Which buffers of a real Neovim the server has, and as what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.lsp.conftest import TEXT
from tests.fixtures.neovim import ROOT, Neovim, neovim, started


def edit_second_line(vim: Neovim) -> None:
    vim.command("2CopydraftEdit echo b = 2\n")
    vim.until_shown(":CopydraftAccept")
    vim.command("CopydraftAccept")
    assert vim.lines == ["a = 1", "b = 2", "c = 1"]


def documents(vim: Neovim) -> int:
    """How many the server has open."""
    vim.lua("shown = {}")
    vim.command("CopydraftStatus")
    return int(vim.until_shown(" documents").split(" documents")[0].rpartition(" ")[2])


def test_a_file_without_a_filetype_is_one_of_them(vim: Neovim, file: Path) -> None:
    vim.open(file.rename(file.with_name("notes")))
    assert vim.lua("return vim.bo.filetype") == ""
    edit_second_line(vim)


def test_commands_are_there_when_neovim_begins_with_such_a_file(binary: Path, file: Path) -> None:
    init = file.with_name("init.lua")
    init.write_text(
        f"vim.opt.runtimepath:append('{ROOT}')\nvim.lsp.enable('copydraft')\n", encoding="utf-8"
    )
    with started(binary, "-u", str(init), str(file.rename(file.with_name("notes")))) as vim:
        vim.until_attached()
        assert vim.lua("return vim.fn.exists(':CopydraftEdit')") == 2


@pytest.mark.parametrize("naming", ["file", "write"])
def test_a_buffer_is_one_once_it_has_a_name(vim: Neovim, file: Path, naming: str) -> None:
    vim.command("enew | set filetype=python")
    vim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'a = 1', 'b = 1', 'c = 1' })")
    vim.command(f"{naming} {file.with_name('b.py')}")
    vim.until_attached()
    edit_second_line(vim)


def test_a_buffer_that_is_renamed_goes_by_its_new_name_alone(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command(f"file {file.with_name('b.py')}")
    vim.until_attached()
    assert documents(vim) == 1
    edit_second_line(vim)


def test_two_buffers_that_change_their_names_are_both_there(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command(f"saveas {file.with_name('b.py')}")
    vim.until_attached()
    edit_second_line(vim)
    vim.command("buffer #")
    vim.until_attached()
    assert documents(vim) == 2


def test_what_is_typed_is_kept_back_for_twenty_milliseconds_at_most(
    vim: Neovim, file: Path
) -> None:
    vim.open(file)
    flags = vim.lua("return vim.lsp.get_clients({ name = 'copydraft' })[1].flags")
    assert flags == {"debounce_text_changes": 20}


@pytest.mark.parametrize("command", ["terminal", "edit .", "help", "copen"])
def test_what_is_no_file_is_none_of_them(vim: Neovim, file: Path, command: str) -> None:
    vim.command(f"cd {file.parent} | {command}")
    vim.open(file)
    assert documents(vim) == 1


def test_a_window_without_a_file_is_not_told_to_get_a_name(vim: Neovim) -> None:
    vim.command("enew | set buftype=nofile")
    vim.command("CopydraftEdit x")
    vim.until_shown("this window shows no file")


def test_filetypes_of_the_users_choice_are_kept_to(vim: Neovim, file: Path) -> None:
    vim.lua("vim.lsp.config('copydraft', { filetypes = { 'python' } })")
    vim.command(f"edit {file.with_name('notes')}")
    vim.open(file)
    vim.command("buffer #")
    assert vim.lua("return #vim.lsp.get_clients({ bufnr = 0 })") == 0


def test_an_edit_has_the_line_ends_that_were_set_last(
    binary: Path, file: Path, answering_model: Callable[..., Path]
) -> None:
    file.write_bytes(TEXT.replace(b"\n", b"\r\n"))
    model = answering_model("\na = 1\nb = 2\nc = 1\n```", after="```python")
    with neovim(binary, model=str(model)) as vim:
        vim.open(file)
        vim.command("set fileformat=unix | %CopydraftEdit set b")
        vim.until_shown(":CopydraftAccept")
        vim.command("CopydraftAccept | write")
    assert file.read_bytes() == b"a = 1\nb = 2\nc = 1\n"
