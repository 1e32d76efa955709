"""copydraft in a real Neovim, 0.11 and 0.12, over a daemon without a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.lsp.conftest import BINARIES, TEXT
from tests.fixtures.daemons import daemon_process
from tests.fixtures.neovim import Neovim, neovim

ACTIVE = """
local client = vim.lsp.get_clients({ name = 'copydraft' })[1]
local asked = { command = 'copydraft.status', arguments = {} }
local answer = client:request_sync('workspace/executeCommand', asked, 30000, 0)
return answer.result.daemon.active == ...
"""
"""Whether the daemon has so many requests at work."""

GHOST = """
local namespace = vim.api.nvim_get_namespaces()['nvim.lsp.inline_completion']
local marks = vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })
return #marks == 1 and marks[1][4].virt_text[1][1] == ...
"""
"""Whether this is the completion that is shown."""


def test_an_accepted_edit_is_one_undo_step(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("2,3CopydraftEdit echo b = 2\nx = 0\nc = 3\n")
    vim.until_shown(":CopydraftAccept or :CopydraftReject")
    assert vim.preview == ([1, 2], ["b = 2", "x = 0", "c = 3"])
    assert vim.lines == ["a = 1", "b = 1", "c = 1"]
    vim.command("CopydraftAccept")
    assert vim.lines == ["a = 1", "b = 2", "x = 0", "c = 3"]
    assert vim.preview == ([], [])
    vim.command("undo")
    vim.command("write")
    assert file.read_bytes() == TEXT


def test_only_changed_lines_are_touched(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("1,3CopydraftEdit echo a = 1\nb = 2\nc = 1\n")
    vim.until_shown(":CopydraftAccept")
    assert vim.preview == ([1], ["b = 2"])


@pytest.mark.parametrize(
    "content", [b"a = 1\r\nb = 1\r\n", b"a = 1\nb = 1", b"\xef\xbb\xbfb = 1\n"]
)
def test_line_ends_marks_and_a_missing_final_newline_stay(
    vim: Neovim, file: Path, content: bytes
) -> None:
    file.write_bytes(content)
    vim.command("set nofixendofline")
    vim.open(file)
    vim.command("$CopydraftEdit echo b = 2\n")
    vim.until_shown(":CopydraftAccept")
    vim.command("CopydraftAccept | write")
    assert file.read_bytes() == content.replace(b"b = 1", b"b = 2")


def test_a_carriage_return_in_a_file_of_mixed_line_ends_stays(vim: Neovim, file: Path) -> None:
    file.write_bytes(b"a = 1\r\nb = 1\nc = 1\r\n")
    vim.open(file)
    vim.command("1,3CopydraftEdit echo a = 1\r\nb = 2\nc = 1\r\n")
    vim.until_shown(":CopydraftAccept")
    vim.command("CopydraftAccept | write")
    assert file.read_bytes() == b"a = 1\r\nb = 2\nc = 1\r\n"


def test_an_edit_is_forgotten_with_its_buffer(vim: Neovim, file: Path) -> None:
    file.write_bytes(b"x = 1\ny = 1\nx = 1\n")
    vim.open(file)
    vim.command("3CopydraftEdit echo x = 2\n")
    vim.until_shown(":CopydraftAccept")
    vim.command("enew | bdelete #")
    vim.open(file)
    vim.command("CopydraftAccept")
    vim.until_shown("there is no edit in this buffer")
    assert vim.lines == ["x = 1", "y = 1", "x = 1"]


def test_a_rejected_edit_leaves_nothing(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("2CopydraftEdit echo b = 2\n")
    vim.until_shown(":CopydraftAccept")
    vim.command("CopydraftReject")
    assert (vim.lines, vim.preview) == (["a = 1", "b = 1", "c = 1"], ([], []))


def test_a_cancelled_edit_leaves_nothing_and_the_next_is_right(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("1CopydraftEdit hold")
    vim.command("CopydraftCancel")
    vim.until_shown("cancelled")
    assert vim.preview == ([], [])
    vim.command("2CopydraftEdit echo b = 2\n")
    vim.until_shown(":CopydraftAccept")


def test_a_server_that_was_killed_is_told_and_starts_again(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("1CopydraftEdit hold")
    vim.lua("vim.lsp.get_clients({ name = 'copydraft' })[1].rpc.terminate()")
    vim.until_shown("the language server ended; :edit starts it again")
    vim.open(file)
    vim.command("2CopydraftEdit echo b = 2\n")
    vim.until_shown(":CopydraftAccept")


def test_text_typed_above_moves_the_edit(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("2CopydraftEdit echo b = 2\n")
    vim.until_shown(":CopydraftAccept")
    vim.type("ggOimport x<Esc>")
    vim.until("return vim.fn.line('$') == 4")
    vim.command("CopydraftAccept")
    assert vim.lines == ["import x", "a = 1", "b = 2", "c = 1"]


def test_text_typed_inside_refuses_it(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("2CopydraftEdit echo b = 2\n")
    vim.until_shown(":CopydraftAccept")
    vim.type("2GAx<Esc>")
    vim.until("return vim.fn.getline(2) == 'b = 1x'")
    vim.command("CopydraftAccept")
    vim.until_shown("the lines were changed since; nothing is applied")
    assert vim.lines == ["a = 1", "b = 1x", "c = 1"]


def test_an_equal_line_is_not_taken_for_the_one_before_a_file_was_read_again(
    vim: Neovim, file: Path
) -> None:
    file.write_bytes(b"x = 0\nx = 1\n")
    vim.open(file)
    vim.command("2CopydraftEdit echo x = 2\n")
    vim.until_shown(":CopydraftAccept")
    file.write_bytes(b"y = 0\nx = 1\nx = 0\nx = 1\n")
    vim.command("set autoread | checktime")
    vim.until_shown("was changed meanwhile")
    assert vim.preview == ([], [])
    vim.command("CopydraftAccept")
    assert vim.lines == ["y = 0", "x = 1", "x = 0", "x = 1"]


def test_a_buffer_may_go_while_its_instruction_is_asked_for(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.lua("vim.ui.input = function(_, take) given = take end")
    vim.command("2CopydraftEdit")
    vim.command("bwipeout")
    vim.lua("given('echo b = 2')")
    vim.until_shown("was changed meanwhile")


@pytest.mark.parametrize(
    ("keys", "left"),
    [("2Gdd", ["x = 1", "x = 1"]), ("2GOx = 1<Esc>3Gdd", ["x = 1", "x = 1", "x = 1"])],
    ids=["deleted", "written again above"],
)
def test_an_equal_line_is_not_taken_for_the_deleted_one(
    vim: Neovim, file: Path, keys: str, left: list[str]
) -> None:
    file.write_bytes(b"x = 1\nx = 1\nx = 1\n")
    vim.open(file)
    vim.command("2CopydraftEdit echo x = 2\n")
    vim.until_shown(":CopydraftAccept")
    vim.type(keys)
    vim.until("return vim.deep_equal(vim.api.nvim_buf_get_lines(0, 0, -1, true), ...)", left)
    vim.command("CopydraftAccept")
    vim.until_shown("the lines were changed since; nothing is applied")
    assert vim.lines == left


def test_an_edit_goes_with_its_deleted_lines_and_comes_back_with_them(
    vim: Neovim, file: Path
) -> None:
    vim.open(file)
    vim.command("2CopydraftEdit echo b = 2\n")
    vim.until_shown(":CopydraftAccept")
    vim.command("2delete")
    assert vim.screen[:3] == ["a = 1", "c = 1", "~"]
    vim.command("undo")
    assert vim.screen[:4] == ["a = 1", "b = 1", "b = 2", "c = 1"]
    vim.command("CopydraftAccept")
    assert vim.lines == ["a = 1", "b = 2", "c = 1"]


def test_text_typed_inside_while_it_is_written_ends_it(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("2CopydraftEdit hold")
    vim.type("2GAx<Esc>")
    vim.until_shown("the selected lines were changed while the model wrote")
    assert vim.preview == ([], [])


def test_a_buffer_that_cannot_be_changed_begins_no_edit(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("set nomodifiable")
    vim.lua("vim.ui.input = function() asked = true end")
    vim.command("CopydraftEdit")
    vim.until_shown("this buffer cannot be changed")
    assert vim.lua("return asked or vim.lsp.get_clients()[1].requests[1] or false") is False


def test_an_edit_waits_until_its_buffer_can_be_changed(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("2CopydraftEdit echo b = 2\n")
    vim.until_shown(":CopydraftAccept")
    vim.command("set nomodifiable | CopydraftAccept")
    vim.until_shown("this buffer cannot be changed; :set modifiable, then accept again")
    assert vim.preview == ([1], ["b = 2"])
    vim.command("set modifiable | CopydraftAccept")
    assert vim.lines == ["a = 1", "b = 2", "c = 1"]


def test_a_second_edit_is_refused_before_its_instruction_is_asked_for(
    vim: Neovim, file: Path
) -> None:
    vim.open(file)
    vim.command("2CopydraftEdit echo b = 2\n")
    vim.until_shown(":CopydraftAccept")
    vim.lua("vim.ui.input = function() asked = true end")
    vim.command("1CopydraftEdit")
    vim.until_shown("accept or reject the edit of this buffer first")
    assert vim.lua("return asked or false") is False


def test_edits_of_two_buffers_go_to_their_own(vim: Neovim, file: Path) -> None:
    other = file.with_name("b.py")
    other.write_bytes(TEXT)
    vim.open(file)
    vim.command("1CopydraftEdit echo a = 2\n")
    vim.open(other)
    vim.command("2CopydraftEdit echo b = 2\n")
    vim.until("return #shown == 2")
    vim.command("CopydraftAccept")
    assert vim.lines == ["a = 1", "b = 2", "c = 1"]
    vim.command("buffer 1 | CopydraftAccept")
    assert vim.lines == ["a = 2", "b = 1", "c = 1"]


def test_two_roots_have_one_server(vim: Neovim, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / "a.py").write_bytes(TEXT)
        vim.open(tmp_path / name / "a.py")
    assert vim.lua("return #vim.lsp.get_clients({ name = 'copydraft' })") == 1


def test_a_code_action_asks_for_the_instruction(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.lua("""
        vim.ui.select = function(items, _, choose)
          for _, item in ipairs(items) do
            if item.action.title:find('edit the selection') then return choose(item, 1) end
          end
        end
        vim.ui.input = function(_, take) take('echo b = 2\\n') end
        vim.lsp.buf.code_action({ range = { start = { 2, 0 }, ['end'] = { 2, 3 } } })
    """)
    vim.until_shown(":CopydraftAccept")
    vim.command("CopydraftAccept")
    assert vim.lines == ["a = 1", "b = 2", "c = 1"]


def test_the_lines_are_read_while_the_instruction_is_typed(binary: Path, file: Path) -> None:
    file.write_bytes(b"# hold\nb = 1\n")
    with daemon_process(), neovim(binary) as vim:
        vim.open(file)
        vim.lua("vim.ui.input = function(_, take) answer = take end")
        vim.command("1CopydraftEdit")
        vim.until(ACTIVE, 1)
        vim.lua("answer(nil)")
        vim.until(ACTIVE, 0)
        vim.command("2CopydraftEdit")
        vim.lua("answer('echo b = 2\\n')")
        vim.until_shown(":CopydraftAccept")


def test_a_carriage_return_inside_a_line_shifts_no_other(vim: Neovim, file: Path) -> None:
    file.write_bytes(b"a\rb\nc = 1\nd = 1\n")
    vim.open(file)
    vim.type("Aq<Esc>")
    vim.until("return vim.fn.getline(1) == 'a\\rbq'")
    vim.command("2CopydraftEdit echo c = 2\n")
    vim.until_shown(":CopydraftAccept")
    assert vim.preview == ([1], ["c = 2"])
    vim.command("CopydraftAccept | write")
    assert file.read_bytes() == b"a\rbq\nc = 2\nd = 1\n"


def test_a_completion_is_shown_while_typing_and_taken_by_a_key(file: Path) -> None:
    if "0.12" not in BINARIES:
        pytest.skip("no Neovim 0.12 is installed")
    with daemon_process(), neovim(BINARIES["0.12"]) as vim:
        vim.open(file)
        vim.command("CopydraftCompletion")
        vim.until_shown("completion is on")
        vim.lua("vim.keymap.set('i', '<Tab>', function() vim.lsp.inline_completion.get() end)")
        vim.type("GA # echo 2 + 2")
        vim.until(GHOST, "2 + 2")
        assert vim.lines[-1] == "c = 1 # echo 2 + 2"
        vim.type("<Tab>")
        vim.until("return vim.fn.getline('$') == 'c = 1 # echo 2 + 22 + 2'")
        vim.type("<Esc>")
        vim.command("CopydraftCompletion")
        vim.until_shown("completion is off")


def test_completion_says_what_it_needs(file: Path) -> None:
    if "0.11" not in BINARIES:
        pytest.skip("no Neovim 0.11 is installed")
    with neovim(BINARIES["0.11"]) as vim:
        vim.open(file)
        vim.command("CopydraftCompletion")
        vim.until_shown("completion needs Neovim 0.12")


def test_a_refused_answer_is_told(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("1CopydraftEdit refuse")
    assert vim.until_shown("the answer is empty") == "copydraft: the answer is empty (say more)"
    assert vim.preview == ([], [])


def test_a_buffer_without_a_name_is_told_to_get_one(vim: Neovim) -> None:
    vim.command("enew | set filetype=python")
    vim.command("CopydraftEdit x")
    vim.until_shown("give the buffer a name first")


def test_status_and_doctor_tell_of_the_daemon(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("CopydraftStatus")
    assert "model: fake on CPU" in vim.until_shown("daemon: process")
    vim.command("CopydraftDoctor")
    vim.until("return vim.api.nvim_win_get_config(0).relative ~= ''")
    assert vim.lines[0].startswith("copydraft-lsp")
    assert len(vim.lines) > 5


def test_the_health_check_has_no_complaint(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.command("checkhealth vim.lsp")
    text = "\n".join(vim.lines)
    assert "copydraft" in text
    assert "ERROR" not in text


def test_a_restarted_daemon_is_found_again(binary: Path, file: Path) -> None:
    with neovim(binary) as vim:
        vim.open(file)
        for _ in range(2):
            with daemon_process() as daemon:
                vim.command("1CopydraftEdit echo a = 2\n")
                vim.until_shown(":CopydraftAccept")
                vim.command("CopydraftReject")
                vim.lua("shown = {}")
                # So that its socket is gone: the next one is waited for by its own.
                daemon.terminate()
                daemon.wait()


def test_a_lost_document_is_opened_again(vim: Neovim, file: Path) -> None:
    vim.open(file)
    vim.lua("""
        local client = vim.lsp.get_clients({ name = 'copydraft' })[1]
        local uri, far = vim.uri_from_bufnr(0), { line = 99, character = 0 }
        client:notify('textDocument/didChange', {
          textDocument = { uri = uri, version = 99 },
          contentChanges = { { range = { start = far, ['end'] = far }, text = 'lost' } },
        })
        resynced = false
        vim.api.nvim_create_autocmd('LspAttach', { callback = function() resynced = true end })
    """)
    vim.until("return resynced")
    vim.command("1CopydraftEdit echo a = 2\n")
    vim.until_shown(":CopydraftAccept")


def test_a_real_engine_edits_a_real_buffer(
    binary: Path, file: Path, answering_model: Callable[..., Path]
) -> None:
    model = answering_model("\na = 1\nb = 2\nc = 1\n```", after="```python")
    with neovim(binary, model=str(model)) as vim:
        vim.open(file)
        vim.command("%CopydraftEdit set b")
        vim.until_shown(":CopydraftAccept")
        assert vim.preview == ([1], ["b = 2"])
        vim.command("CopydraftAccept | write")
    assert file.read_bytes() == b"a = 1\nb = 2\nc = 1\n"
