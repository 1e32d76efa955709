"""`copydraft.edit` through the real server: what is applied, and where."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.fixtures.daemons import Running, until
from tests.fixtures.editor import Editor, editing

EDIT = "copydraft.edit"
TEXT = "a = 1\nb = 1\nc = 1\n"
CLOSED = "the document was closed or renamed while the model wrote"


async def test_an_edit_is_applied_as_one_versioned_minimal_change(editor: Editor) -> None:
    uri = editor.open(TEXT)
    answer = await editor.command(EDIT, editor.arguments(uri, (1, 2), instruction="echo b = 2\n"))
    assert editor.texts[uri] == "a = 1\nb = 2\nc = 1\n"
    (asked,) = editor.applied
    assert asked.label == "copydraft: echo b = 2"
    (change,) = asked.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert change.text_document == types.OptionalVersionedTextDocumentIdentifier(uri, 1)
    (edit,) = change.edits
    assert edit.range == types.Range(types.Position(1, 4), types.Position(1, 5))
    assert (answer["applied"], answer["text"], answer["start"], answer["end"]) == (
        True,
        "b = 2\n",
        1,
        2,
    )


async def test_it_carries_an_annotation_where_the_client_shows_one(editor: Editor) -> None:
    uri = editor.open(TEXT)
    await editor.command(EDIT, editor.arguments(uri, (1, 2), instruction="echo b = 2\n"))
    label = types.ChangeAnnotation("copydraft: echo b = 2")
    assert editor.applied[0].edit.change_annotations == {"copydraft": label}


async def test_a_client_without_versions_gets_plain_changes(daemon: Running) -> None:
    async with editing(versioned=False) as editor:
        uri = editor.open(TEXT)
        await editor.command(EDIT, editor.arguments(uri, (1, 2), instruction="echo b = 2\n"))
        assert editor.applied[0].edit.document_changes is None
        assert editor.texts[uri] == "a = 1\nb = 2\nc = 1\n"


async def test_the_whole_document_and_the_selected_lines_are_sent(
    editor: Editor, daemon: Running
) -> None:
    uri = editor.open("\ufeff" + TEXT)
    arguments = editor.arguments(uri, (1, 2), instruction="echo b = 1\n")
    arguments["range"]["end"] = {"line": 2, "character": 1}
    await editor.command(EDIT, arguments)
    request = daemon.service.tickets[0].request
    region = request.region
    assert (region.path, region.text, region.start, region.end) == ("a.py", TEXT, 1, 3)
    assert request.generation.agent == "Test Editor"


async def test_the_path_is_told_from_the_innermost_folder(daemon: Running) -> None:
    async with editing(folders=["file:///w", "file:///w/my%20lib/"]) as editor:
        for uri in ("file:///w/src/a.py", "file:///w/my%20lib/src/a.py", "file:///x/a.py"):
            editor.open(TEXT, uri)
            await editor.command(EDIT, editor.arguments(uri, (0, 1), instruction="echo a = 1\n"))
    paths = [ticket.request.region.path for ticket in daemon.service.tickets]
    assert paths == ["src/a.py", "src/a.py", "a.py"]
    workspaces = [ticket.request.generation.workspace for ticket in daemon.service.tickets]
    assert workspaces == ["/w", "/w/my lib", "/w"]


async def test_untitled_documents_and_notebook_cells_are_named_by_language(
    editor: Editor, daemon: Running
) -> None:
    cell = types.TextDocumentItem("vscode-notebook-cell:/w/n.ipynb#W0s", "python", 1, TEXT)
    editor.client.notebook_document_did_open(
        types.DidOpenNotebookDocumentParams(
            types.NotebookDocument(
                "file:///w/n.ipynb",
                "jupyter-notebook",
                1,
                [types.NotebookCell(types.NotebookCellKind.Code, cell.uri)],
            ),
            [cell],
        )
    )
    editor.texts[cell.uri], editor.versions[cell.uri] = cell.text, 1
    for uri in (cell.uri, editor.open(TEXT, "untitled:Untitled-1", "rust")):
        await editor.command(EDIT, editor.arguments(uri, (0, 1), instruction="echo a = 2\n"))
        assert editor.texts[uri] == "a = 2\nb = 1\nc = 1\n"
    paths = [ticket.request.region.path for ticket in daemon.service.tickets]
    assert paths == ["n.py", "Untitled-1.rs"]


async def test_without_apply_the_edit_is_only_in_the_result(editor: Editor) -> None:
    uri = editor.open(TEXT)
    answer = await editor.command(
        EDIT, editor.arguments(uri, (1, 2), instruction="echo b = 2\n", apply=False)
    )
    assert editor.applied == []
    assert not answer["applied"]
    (change,) = answer["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": uri, "version": 1}
    assert [edit["newText"] for edit in change["edits"]] == ["2"]


async def test_an_edit_that_changes_nothing_applies_nothing(editor: Editor) -> None:
    uri = editor.open(TEXT)
    answer = await editor.command(EDIT, editor.arguments(uri, (1, 2), instruction="echo b = 1\n"))
    assert (answer["edit"], answer["applied"], editor.applied) == (None, False, [])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_columns_are_right_in_every_encoding(daemon: Running, encoding: str) -> None:
    async with editing(encodings=[encoding]) as editor:
        assert editor.encoding == encoding
        uri = editor.open("μ = '😀' + x\n")
        editor.type(uri, (0, 0), "e\u0301")
        await editor.command(
            EDIT, editor.arguments(uri, (0, 1), instruction="echo e\u0301μ = '😀' + y\n")
        )
        assert editor.texts[uri] == "e\u0301μ = '😀' + y\n"


async def test_without_an_offer_positions_are_utf_16(editor: Editor) -> None:
    assert editor.encoding == "utf-16"


async def test_line_ends_and_a_missing_final_newline_stay(editor: Editor) -> None:
    uri = editor.open("a = 1\r\nb = 1")
    await editor.command(EDIT, editor.arguments(uri, (0, 2), instruction="echo a = 1\r\nb = 2"))
    assert editor.texts[uri] == "a = 1\r\nb = 2"


async def test_deltas_carry_the_text_and_the_edit_so_far(editor: Editor) -> None:
    uri = editor.open(TEXT)
    answer = await editor.command(
        EDIT, editor.arguments(uri, (0, 2), instruction="echo \na=2\nb =", id="mine", apply=False)
    )
    last = editor.deltas[-1]
    assert (last.id, last.kind, last.uri, last.version) == ("mine", "edit", uri, 1)
    assert (last.start, last.end, last.text, last.tokens) == (0, 2, "\na=2\nb=", 2)
    (hunk,) = last.hunks
    assert (hunk.start, hunk.end, hunk.lines) == (0, 0, ["a=2"])
    assert answer["id"] == "mine"
    assert all(last.text.startswith(delta.text) for delta in editor.deltas)


async def test_what_a_model_wrote_before_it_pauses_is_sent(editor: Editor, daemon: Running) -> None:
    uri = editor.open(TEXT)
    asked = editor.ask(EDIT, editor.arguments(uri, (0, 1), instruction="hold \na = 2\n", id="one"))
    await until(lambda: bool(editor.deltas) and editor.deltas[-1].text == "holdinga=2")
    asked.cancel()
    await asyncio.wait([asked.answer])


async def test_without_an_id_there_are_no_deltas(editor: Editor) -> None:
    uri = editor.open(TEXT)
    await editor.command(EDIT, editor.arguments(uri, (0, 1), instruction="echo a b c"))
    assert editor.deltas == []


async def test_changes_outside_the_region_move_the_edit(editor: Editor, daemon: Running) -> None:
    uri = editor.open(TEXT)
    asked = editor.ask(EDIT, editor.arguments(uri, (1, 2), instruction="flood 3"))
    editor.type(uri, (0, 0), "import x\n\n")
    editor.type(uri, (4, 0), "z", (4, 1))
    answer = await asked
    assert (answer["start"], answer["end"], answer["applied"]) == (3, 4, True)
    assert editor.texts[uri] == "import x\n\na = 1\nz = 1\n"


async def test_a_change_inside_it_ends_the_request(editor: Editor, daemon: Running) -> None:
    uri = editor.open(TEXT)
    asked = editor.ask(EDIT, editor.arguments(uri, (1, 2), instruction="hold", id="one"))
    await until(lambda: bool(editor.deltas))
    editor.type(uri, (1, 5), "0")
    with pytest.raises(JsonRpcException) as caught:
        await asked
    assert caught.value.code == types.LSPErrorCodes.RequestFailed
    assert caught.value.message == (
        "the selected lines were changed while the model wrote (ask again)"
    )
    await until(lambda: daemon.service.outcomes == ["cancelled"])
    assert editor.applied == []


async def test_closing_the_document_ends_the_request(editor: Editor, daemon: Running) -> None:
    uri = editor.open(TEXT)
    other = editor.open(TEXT, "file:///w/b.py")
    asked = editor.ask(EDIT, editor.arguments(uri, (1, 2), instruction="hold", id="one"))
    await until(lambda: bool(editor.deltas))
    editor.close(uri)
    with pytest.raises(JsonRpcException, match=CLOSED):
        await asked
    await until(lambda: daemon.service.outcomes == ["cancelled"])
    assert editor.texts[other] == TEXT


async def test_two_edits_of_one_document_are_both_applied(editor: Editor) -> None:
    uri = editor.open(TEXT)
    below = editor.ask(EDIT, editor.arguments(uri, (2, 3), instruction="echo c = 3\n"))
    above = editor.ask(EDIT, editor.arguments(uri, (0, 1), instruction="echo x\na = 3\n"))
    await below
    await above
    assert editor.texts[uri].splitlines() == ["x", "a = 3", "b = 1", "c = 3"]


async def test_an_edit_that_a_change_overtakes_is_made_for_the_new_version(editor: Editor) -> None:
    uri = editor.open(TEXT)

    def overtake() -> None:
        editor.before_applying = lambda: None
        editor.type(uri, (0, 0), "import x\n")

    editor.before_applying = overtake
    await editor.command(EDIT, editor.arguments(uri, (1, 2), instruction="echo b = 2\n"))
    assert len(editor.applied) == 2
    assert editor.texts[uri] == "import x\na = 1\nb = 2\nc = 1\n"


async def test_an_edit_that_the_editor_refuses_is_told(editor: Editor) -> None:
    uri = editor.open(TEXT)
    editor.refusals = itertools.repeat(True)
    with pytest.raises(JsonRpcException, match="the editor did not apply the edit: not now"):
        await editor.command(EDIT, editor.arguments(uri, (1, 2), instruction="echo b = 2\n"))


async def test_a_selection_of_another_version_is_refused(editor: Editor, daemon: Running) -> None:
    uri = editor.open(TEXT)
    arguments = editor.arguments(uri, (1, 2), instruction="echo b = 2\n")
    editor.type(uri, (0, 0), "import x\n")
    with pytest.raises(JsonRpcException, match="the document has changed since"):
        await editor.command(EDIT, arguments)
    assert daemon.service.tickets == []


@pytest.mark.parametrize("text", ["a = 1", "a = 1\n", "😀 = 1\r"])
async def test_in_a_file_of_one_line_an_edit_lands_in_its_column(editor: Editor, text: str) -> None:
    uri = editor.open(text)
    new = text.replace("1", "2")
    await editor.command(EDIT, editor.arguments(uri, (0, 1), instruction=f"echo {new}"))
    assert editor.texts[uri] == new
    (change,) = editor.applied[0].edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert [getattr(edit, "new_text", None) for edit in change.edits] == ["2"]


@pytest.mark.parametrize("text", ["", TEXT])
@pytest.mark.parametrize("command", [EDIT, "copydraft.explain"])
async def test_the_empty_line_below_the_text_is_nothing_to_ask_about(
    editor: Editor, daemon: Running, text: str, command: str
) -> None:
    uri = editor.open(text)
    line = text.count("\n")
    asked = editor.arguments(uri, (line, line), instruction="echo x", question="echo x")
    with pytest.raises(JsonRpcException) as caught:
        await editor.command(command, asked)
    assert caught.value.message == "there is no text in these lines (select some code)"
    assert (daemon.service.tickets, editor.texts[uri]) == ([], text)


async def test_of_a_line_that_is_selected_in_part_only_what_differs_is_replaced(
    editor: Editor,
) -> None:
    uri = editor.open("left(1) + right(1)\n")
    asked = editor.arguments(uri, (0, 0), instruction="echo left(2) + right(1)\n")
    asked["range"] = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 7}}
    await editor.command(EDIT, asked)
    (change,) = editor.applied[0].edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    (edit,) = change.edits
    assert edit.range == types.Range(types.Position(0, 5), types.Position(0, 6))
    assert editor.texts[uri] == "left(2) + right(1)\n"


async def test_a_last_line_without_an_end_can_be_edited(editor: Editor) -> None:
    uri = editor.open("a = 1\nb = 1")
    await editor.command(EDIT, editor.arguments(uri, (1, 1), instruction="echo b = 2"))
    assert editor.texts[uri] == "a = 1\nb = 2"


async def test_the_document_asked_for_is_edited_whatever_is_opened_meanwhile(
    editor: Editor, daemon: Running
) -> None:
    uri = editor.open(TEXT)
    asked = editor.ask(EDIT, editor.arguments(uri, (1, 2), instruction="flood 3"))
    other = editor.open(TEXT, "file:///w/b.py")
    editor.type(other, (1, 0), "z")
    await asked
    assert (editor.texts[uri], editor.texts[other]) == ("a = 1\nc = 1\n", "a = 1\nzb = 1\nc = 1\n")


async def test_a_formatter_between_two_edits_confuses_neither(editor: Editor) -> None:
    uri = editor.open(TEXT)
    await editor.command(EDIT, editor.arguments(uri, (2, 3), instruction="echo c=3\n"))
    second = editor.ask(EDIT, editor.arguments(uri, (0, 1), instruction="echo a = 3\n"))
    editor.type(uri, (2, 1), " = ", (2, 2))
    editor.client.text_document_did_save(
        types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri), editor.texts[uri])
    )
    await second
    assert editor.texts[uri] == "a = 3\nb = 1\nc = 3\n"


def renamed(editor: Editor, uri: str, *, opens_first: bool) -> str:
    """Rename the file of an open document, as editors tell a server."""
    if not opens_first:
        editor.close(uri)
    new = editor.open(editor.texts[uri], "file:///w/renamed.py")
    if opens_first:
        editor.close(uri)
    return new


@pytest.mark.parametrize("opens_first", [False, True])
async def test_renaming_the_file_ends_the_request_and_leaves_the_new_one_alone(
    editor: Editor, daemon: Running, opens_first: bool
) -> None:
    uri = editor.open(TEXT)
    asked = editor.ask(EDIT, editor.arguments(uri, (1, 2), instruction="hold", id="one"))
    await until(lambda: bool(editor.deltas))
    new = renamed(editor, uri, opens_first=opens_first)
    with pytest.raises(JsonRpcException, match=CLOSED):
        await asked
    await until(lambda: daemon.service.outcomes == ["cancelled"])
    assert (editor.applied, editor.texts[new]) == ([], TEXT)


async def test_a_file_that_is_renamed_before_its_edit_is_applied_stays_as_it_is(
    editor: Editor,
) -> None:
    uri = editor.open(TEXT)

    def rename() -> None:
        renamed(editor, uri, opens_first=False)

    editor.before_applying = rename
    with pytest.raises(JsonRpcException, match=CLOSED):
        await editor.command(EDIT, editor.arguments(uri, (1, 2), instruction="echo b = 2\n"))
    assert editor.texts["file:///w/renamed.py"] == TEXT


async def test_a_renamed_file_is_edited_by_its_new_name(editor: Editor) -> None:
    uri = editor.open(TEXT)
    new = renamed(editor, uri, opens_first=True)
    await editor.command(EDIT, editor.arguments(new, (1, 2), instruction="echo b = 2\n"))
    assert (editor.texts[new], editor.texts[uri]) == ("a = 1\nb = 2\nc = 1\n", TEXT)
    with pytest.raises(JsonRpcException, match=r"a\.py is not open"):
        await editor.command(EDIT, editor.arguments(uri, (1, 2), instruction="echo b = 2\n"))
