"""Explanations and questions in a window of a real Neovim."""

from __future__ import annotations

from pathlib import Path

from tests.fixtures.neovim import Neovim


def test_an_explanation_streams_into_a_window(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("1CopydraftExplain echo it adds")
    vim.until("return vim.api.nvim_win_get_config(0).relative ~= ''")
    vim.until("return vim.fn.getline(1) == 'it adds'")
    assert vim.lua("return vim.bo.filetype") == "markdown"
    vim.type("q")
    vim.until("return vim.api.nvim_win_get_config(0).relative == ''")


def test_while_the_model_thinks_an_explanation_is_a_dot_dot_dot(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("1CopydraftExplain hold")
    vim.until("return vim.fn.getline(1) == 'holding'")
    vim.lua("""
        local client = vim.lsp.get_clients({ name = 'copydraft' })[1]
        local id = next(package.loaded['copydraft.state'].explanations)
        client.handlers['copydraft/delta'](nil, { kind = 'explain', id = id, text = '' })
    """)
    assert vim.lines == ["…"]


def test_an_explanation_can_be_asked_on_about_in_its_window(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("1CopydraftExplain echo it adds")
    vim.until("return vim.fn.getline(1) == 'it adds'")
    vim.lua("vim.ui.input = function(_, take) take('echo as I said') end")
    vim.type("<CR>")
    vim.until("return vim.fn.getline('$') == 'as I said'")
    assert vim.lines == ["it adds", "", "**echo as I said**", "", "as I said"]
    vim.lua("vim.ui.input = function(_, take) take('hold') end")
    vim.type("<CR>")
    vim.until("return vim.fn.getline('$') == 'holding'")
    vim.command("CopydraftCancel")
    vim.until_shown("cancelled")
    vim.lua("vim.ui.input = function(_, take) take('echo yes') end")
    vim.type("<CR>")
    vim.until("return vim.fn.getline('$') == 'yes'")


def test_a_question_may_have_several_lines(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("1CopydraftExplain echo it adds")
    vim.until("return vim.fn.getline(1) == 'it adds'")
    vim.lua("vim.ui.input = function(_, take) take('echo yes\\nand no') end")
    vim.type("<CR>")
    vim.until("return vim.fn.getline('$') == 'and no'")
    assert vim.lines == ["it adds", "", "**echo yes", "and no**", "", "yes", "and no"]


def test_closing_its_window_cancels_it(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("1CopydraftExplain hold")
    vim.until("return vim.fn.getline(1) == 'holding'")
    vim.type("q")
    vim.until_shown("cancelled")
