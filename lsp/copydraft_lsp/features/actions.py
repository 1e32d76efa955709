"""Code actions: what copydraft can do with a selection, the definition here, or a diagnostic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from copydraft_lsp.blocks import enclosing
from copydraft_lsp.convert import whole_lines
from copydraft_lsp.documents import Document
from copydraft_lsp.features import edit, explain

if TYPE_CHECKING:
    from copydraft_lsp.server import CopydraftServer

EXPLAIN_KIND = "copydraft.explain"

_KINDS = (types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorRewrite, EXPLAIN_KIND)
_MOST_FIXES = 3
_TITLE_LENGTH = 60


def register(server: CopydraftServer) -> None:
    options = types.CodeActionOptions(code_action_kinds=list(_KINDS))

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = server.documents.get(params.text_document.uri)
        if document is None or document.language in server.settings.disabled_languages:
            return []
        offered = [*_fixes(document, params.context.diagnostics), *_rewrites(server, params)]
        only = params.context.only
        return [action for action in offered if only is None or _is_one_of(action, only)]


def _is_one_of(action: types.CodeAction, kinds: Any) -> bool:
    """`refactor` asks for `refactor.rewrite` too, and the empty kind for all."""
    kind = f"{_value(action.kind)}."
    return any(not wanted or kind.startswith(f"{wanted}.") for wanted in map(_value, kinds))


def _value(kind: Any) -> str:
    return str(getattr(kind, "value", kind))


def _fixes(document: Document, diagnostics: Any) -> list[types.CodeAction]:
    """One for each diagnostic: its text is the instruction, its definition the lines."""
    actions = []
    for diagnostic in diagnostics[:_MOST_FIXES]:
        # What is missing at the end of a text is reported behind it.
        final = max(0, len(document.lines) - 1)
        first = min(diagnostic.range.start.line, final)
        last = min(diagnostic.range.end.line, final)
        block = enclosing(document.lines, first)
        lines = (block.start, block.end) if block and last < block.end else (first, last + 1)
        said = str(diagnostic.message).strip()
        where = f"line {first - lines[0] + 1} of the region"
        actions.append(
            _edit(
                document,
                f"Fix with copydraft: {_short(said)}",
                lines,
                f"Fix this problem in {where}: {said}",
                types.CodeActionKind.QuickFix,
                [diagnostic],
            )
        )
    return actions


def _rewrites(server: CopydraftServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Edits and the explanation of what is selected, or of the definition around the cursor."""
    document = server.documents.get(params.text_document.uri)
    assert document is not None
    start, end = whole_lines(params.range, len(document.lines))
    if start == end:
        return []
    what = "the selection"
    if params.range.start == params.range.end:
        block = enclosing(document.lines, start)
        if block is None:
            return []
        (start, end), what = block[:2], block.name
    lines, kind = (start, end), types.CodeActionKind.RefactorRewrite
    actions = [
        _edit(document, f"copydraft: {_short(wish)} ({what})", lines, wish, kind)
        for wish in server.settings.instructions
    ]
    if server.asks:
        title = f"copydraft: edit {what}…"
        actions.insert(0, _edit(document, title, lines, "", kind))
    title = f"copydraft: explain {what}"
    command = _command(title, explain.COMMAND, document, lines, show=True)
    actions.append(types.CodeAction(title, kind=EXPLAIN_KIND, command=command))
    return actions


def _edit(
    document: Document,
    title: str,
    lines: tuple[int, int],
    instruction: str,
    kind: types.CodeActionKind,
    diagnostics: list[types.Diagnostic] | None = None,
) -> types.CodeAction:
    command = _command(title, edit.COMMAND, document, lines, instruction=instruction)
    return types.CodeAction(title, kind=kind, diagnostics=diagnostics, command=command)


def _command(
    title: str, name: str, document: Document, lines: tuple[int, int], **more: Any
) -> types.Command:
    argument = {
        "textDocument": {"uri": document.uri, "version": document.version},
        "range": {
            "start": {"line": lines[0], "character": 0},
            "end": {"line": lines[1], "character": 0},
        },
        **more,
    }
    return types.Command(title, name, arguments=[argument])


def _short(text: str) -> str:
    line = text.splitlines()[0] if text else ""
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1] + "…"
