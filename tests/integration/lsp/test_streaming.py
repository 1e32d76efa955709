"""Open documents reach the daemon while they are typed in."""

from __future__ import annotations

import asyncio
import os
import random

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from copydraft import paths
from copydraft.protocol import DocumentChanged, DocumentOpened, DocumentUpdates
from tests.fixtures.daemons import Running, daemon_process, running, until
from tests.fixtures.editor import Editor, editing
from tests.fixtures.fake_service import FakeService

TEXT = "a = 1\nb = 1\n"
W = ["file:///w"]


def texts(service: FakeService, workspace: str = "/w") -> dict[str, str | None]:
    """What the daemon has, by name."""
    return {name: each.text for name, each in service.open.of(workspace).items()}


async def test_a_document_is_there_once_it_is_opened_and_after_every_change(
    daemon: Running,
) -> None:
    async with editing(folders=W) as editor:
        uri = editor.open(TEXT)
        await until(lambda: texts(daemon.service) == {"a.py": TEXT})
        editor.type(uri, (1, 4), "22", (1, 5))
        editor.type(uri, (0, 0), "import x\n")
        await until(lambda: texts(daemon.service) == {"a.py": "import x\na = 1\nb = 22\n"})
        assert daemon.service.open.of("/w")["a.py"].version == 3
        editor.close(uri)
        await until(lambda: texts(daemon.service) == {})


async def test_changes_alone_are_sent_and_those_of_an_instant_together(daemon: Running) -> None:
    async with editing(folders=W) as editor:
        uri = editor.open("x = 1\n" * 1000)
        await until(lambda: len(texts(daemon.service)) == 1)
        for column in range(50):
            editor.type(uri, (500, column), "y")
        await until(lambda: texts(daemon.service) == {"a.py": editor.texts[uri]})
    later = daemon.service.updates[1:]
    assert 0 < len(later) < 50
    assert all(isinstance(each, DocumentChanged) for call in later for each in call.updates)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_random_typing_ends_in_the_same_text(daemon: Running, encoding: str) -> None:
    pieces = ["a", "😀", "μ", "\n", "\r\n", "\r", "", "e\u0301", "def f():\n"]
    random_ = random.Random(1)
    async with editing(folders=W, encodings=[encoding]) as editor:
        uri = editor.open("\ufeffa\r\nb\rc\n😀d")
        for _ in range(100):
            last = min(8, editor.texts[uri].count("\n"))
            places = [(random_.randint(0, last), random_.randrange(6)) for _ in range(2)]
            editor.type(uri, min(places), "".join(random_.choices(pieces, k=2)), max(places))
            if random_.random() < 0.05:
                await asyncio.sleep(0.02)
        wanted = editor.texts[uri].removeprefix("\ufeff")
        await until(lambda: texts(daemon.service) == {"a.py": wanted})


async def test_a_document_belongs_to_the_innermost_folder_or_else_to_the_first(
    daemon: Running,
) -> None:
    async with editing(folders=[*W, "file:///w/my%20lib"]) as editor:
        for uri in ("file:///w/src/a.py", "file:///w/my%20lib/b.py", "file:///x/c.py"):
            editor.open(TEXT, uri)
        editor.open(TEXT, "untitled:Untitled-1")
        await until(lambda: len(texts(daemon.service, "/w/my lib")) == 1)
        await until(lambda: len(texts(daemon.service)) == 3)
    assert set(texts(daemon.service)) == {"src/a.py", "/x/c.py", "untitled:Untitled-1.py"}
    assert set(texts(daemon.service, "/w/my lib")) == {"b.py"}


async def test_cells_of_a_notebook_are_documents(daemon: Running) -> None:
    cell = types.TextDocumentItem("vscode-notebook-cell:/w/n.ipynb#W0s", "python", 1, TEXT)
    kept = types.NotebookCell(types.NotebookCellKind.Code, cell.uri)
    book = types.NotebookDocument("file:///w/n.ipynb", "jupyter-notebook", 1, [kept])
    async with editing(folders=W) as editor:
        editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(book, [cell]))
        await until(lambda: texts(daemon.service) == {f"{cell.uri}.py": TEXT})


async def test_without_a_folder_nothing_is_sent(daemon: Running, editor: Editor) -> None:
    editor.open(TEXT)
    await editor.synced()
    await asyncio.sleep(0.1)
    assert daemon.service.updates == []


async def test_what_is_excluded_disabled_or_secret_is_not_sent(daemon: Running) -> None:
    options = {"exclude": ["gen/"], "disabledLanguages": ["rust"]}
    async with editing(folders=W, options=options) as editor:
        editor.open("a secret", "file:///w/.env")
        editor.open("generated", "file:///w/gen/a.py")
        editor.open("disabled", "file:///w/a.rs", "rust")
        editor.open(TEXT)
        await until(lambda: set(texts(daemon.service)) == {"a.py"})
        changed = {"copydraft": {"exclude": ["/a.py"], "disabledLanguages": []}}
        editor.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams(changed)
        )
        await until(lambda: set(texts(daemon.service)) == {"gen/a.py", "a.rs"})
    sent = "".join(map(str, daemon.service.updates))
    assert "a secret" not in sent


async def test_a_folder_that_is_added_takes_its_documents(daemon: Running) -> None:
    async with editing(folders=W) as editor:
        editor.open(TEXT, "file:///w/lib/a.py")
        await until(lambda: texts(daemon.service) == {"lib/a.py": TEXT})
        added = types.WorkspaceFolder("file:///w/lib", "lib")
        event = types.WorkspaceFoldersChangeEvent([added], [])
        editor.client.workspace_did_change_workspace_folders(
            types.DidChangeWorkspaceFoldersParams(event)
        )
        await until(lambda: texts(daemon.service, "/w/lib") == {"a.py": TEXT})
        await until(lambda: texts(daemon.service) == {})


async def test_a_renamed_file_has_its_new_name_only(daemon: Running) -> None:
    async with editing(folders=W) as editor:
        editor.close(editor.open(TEXT))
        editor.open(TEXT, "file:///w/b.py")
        await until(lambda: texts(daemon.service) == {"b.py": TEXT})


async def test_a_document_that_was_lost_is_sent_when_it_is_put_right(daemon: Running) -> None:
    async with editing(folders=W) as editor:
        uri = editor.open(TEXT)
        await until(lambda: texts(daemon.service) == {"a.py": TEXT})
        editor.type(uri, (99, 0), "lost")
        editor.texts[uri] = "right\n"
        await editor.synced()
        await asyncio.sleep(0.05)
        assert texts(daemon.service) == {"a.py": TEXT}
        editor.client.text_document_did_save(
            types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri), "right\n")
        )
        await until(lambda: texts(daemon.service) == {"a.py": "right\n"})


async def test_half_a_character_is_kept_back_until_it_is_whole(daemon: Running) -> None:
    async with editing(folders=W) as editor:
        uri = editor.open(TEXT)
        other = editor.open("other", "file:///w/b.py")
        editor.type(uri, (0, 0), "\ud83d")
        editor.type(other, (0, 0), "an")
        await until(lambda: texts(daemon.service).get("b.py") == "another")
        editor.type(uri, (0, 0), "", (0, 1))
        await until(lambda: texts(daemon.service).get("a.py") == TEXT)


async def test_a_document_of_more_than_a_million_characters_is_not_sent(daemon: Running) -> None:
    async with editing(folders=W) as editor:
        uri = editor.open("x" * (1 << 20))
        await until(lambda: len(texts(daemon.service)) == 1)
        editor.type(uri, (0, 0), "y")
        await until(lambda: texts(daemon.service) == {})
        editor.type(uri, (0, 0), "", (0, 2))
        await until(lambda: texts(daemon.service) == {"a.py": "x" * ((1 << 20) - 1)})


async def test_a_daemon_that_was_restarted_is_sent_all_of_it(runtime_dir: object) -> None:
    async with editing(folders=W) as editor:
        for _ in range(2):
            async with running() as daemon:
                uri = editor.open(TEXT)
                editor.open(TEXT, "file:///w/b.py")
                await editor.command(
                    "copydraft.explain", editor.arguments(uri, (0, 1), question="echo x")
                )
                await until(lambda: len(texts(daemon.service)) == 2)
                editor.type(uri, (0, 0), "z")
                await until(lambda: texts(daemon.service)["a.py"] == editor.texts[uri])  # noqa: B023


async def test_a_request_that_finds_a_new_daemon_is_enough_to_send_it_all(
    runtime_dir: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with editing(folders=W) as editor:
        uri = editor.open(TEXT)
        for process in (11, 12):
            monkeypatch.setattr(os, "getpid", lambda: process)  # noqa: B023
            async with running() as daemon:
                asked = editor.arguments(uri, (0, 1), question="echo x")
                await editor.command("copydraft.explain", asked)
                await until(lambda: texts(daemon.service) == {"a.py": TEXT})


async def test_a_close_that_failed_to_reach_the_daemon_is_told_again(runtime_dir: object) -> None:
    called = asyncio.Event()

    def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.set()
        writer.close()

    async with editing(folders=W) as editor:
        uri = editor.open(TEXT)
        other = editor.open(TEXT, "file:///w/b.py")
        asked = editor.arguments(other, (0, 1), question="echo x")
        async with running() as before:
            await editor.command("copydraft.explain", asked)
            await until(lambda: len(texts(before.service)) == 2)
        async with await asyncio.start_unix_server(hang_up, paths.socket_path()):
            editor.close(uri)
            await called.wait()
        async with running() as after:
            after.service.open = before.service.open
            await editor.command("copydraft.explain", asked)
            await until(lambda: texts(after.service) == {"b.py": TEXT})


async def test_a_daemon_that_another_editor_started_is_found_without_a_keystroke(
    runtime_dir: object,
) -> None:
    async with editing(folders=W) as editor:
        async with running() as daemon:
            uri = editor.open(TEXT)
            asked = editor.arguments(uri, (0, 1), question="echo x")
            await editor.command("copydraft.explain", asked)
            await until(lambda: texts(daemon.service) == {"a.py": TEXT})
        editor.type(uri, (0, 0), "z")
        # Until it was sent in vain, which is soon but not at once.
        await asyncio.sleep(0.5)
        for _ in range(3):
            assert (await editor.command("copydraft.status"))["daemon"] is None
        async with running() as daemon:
            await until(lambda: texts(daemon.service) == {"a.py": "z" + TEXT})


async def test_settings_that_the_editor_cannot_tell_hold_up_nothing(daemon: Running) -> None:
    def fail(_: LanguageClient, __: object) -> None:
        raise RuntimeError("not today")

    async with editing(folders=W, settings=fail) as editor:
        editor.open(TEXT)
        await until(lambda: texts(daemon.service) == {"a.py": TEXT})
        assert any(line.startswith("the editor does not tell its settings") for line in editor.log)


async def test_settings_that_cannot_be_read_hold_up_nothing(daemon: Running) -> None:
    ended = asyncio.Event()

    async def answer(client: LanguageClient, _: object) -> None:
        odd = {"jsonrpc": "2.0", "id": client.protocol.msg_id, "result": 5}
        client.protocol._send_data(odd)
        await ended.wait()

    async with editing(folders=W, settings=answer) as editor:
        editor.open(TEXT)
        await until(lambda: texts(daemon.service) == {"a.py": TEXT})
        ended.set()


async def test_what_the_daemon_lacks_is_sent_again(daemon: Running) -> None:
    async with editing(folders=W) as editor:
        uri = editor.open(TEXT)
        await until(lambda: len(texts(daemon.service)) == 1)
        theirs = DocumentOpened(name="a.py", version=1, text="another editor's")
        daemon.service.open.take(DocumentUpdates(workspace="/w", owner=1, updates=[theirs]))
        editor.type(uri, (0, 0), "z")
        await until(lambda: texts(daemon.service) == {"a.py": "z" + TEXT})


async def test_no_daemon_is_started_for_it(fake_command: None) -> None:
    async with editing(folders=W) as editor:
        editor.type(editor.open(TEXT), (0, 0), "x")
        await asyncio.sleep(0.2)
        status = await editor.command("copydraft.status")
    assert status["daemon"] is None


async def test_a_daemon_that_is_killed_holds_up_nothing() -> None:
    async with editing(folders=W) as editor:
        uri = editor.open(TEXT)
        with daemon_process() as process:
            await editor.command(
                "copydraft.explain", editor.arguments(uri, (0, 1), question="echo x")
            )
            process.kill()
            process.wait()
        for _ in range(20):
            editor.type(uri, (0, 0), "x")
        await editor.synced()
        assert editor.messages == []


async def test_documents_of_one_folder_are_not_seen_in_another(daemon: Running) -> None:
    async with editing(folders=["file:///one", "file:///two"]) as editor:
        uri = editor.open("of one\n", "file:///one/a.py")
        other = editor.open("of two\n", "file:///two/a.py")
        await until(lambda: texts(daemon.service, "/two") == {"a.py": "of two\n"})
        await until(lambda: texts(daemon.service, "/one") == {"a.py": "of one\n"})
        for each in (uri, other):
            asked = editor.arguments(each, (0, 1), question="echo x")
            await editor.command("copydraft.explain", asked)
    workspaces = [ticket.request.generation.workspace for ticket in daemon.service.tickets]
    assert workspaces == ["/one", "/two"]
