"""What the model is told about each answer format, and the format for a request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from copydraft.emission.fence import FenceFormat
from copydraft.emission.plain import PlainFormat
from copydraft.emission.search_replace import SearchReplaceFormat
from copydraft.emission.tool_call import JSON_CALL, NEW, OLD, PATH, TOOL, ToolCallFormat
from copydraft.emission.unified_diff import UnifiedDiffFormat
from copydraft.prompts.tools import EDIT_TOOL, call_syntax

if TYPE_CHECKING:
    from collections.abc import Mapping

    from copydraft.emission.format import EmissionFormat
    from copydraft.prompts.template import ChatTemplate
    from copydraft.protocol import EditFormat

_FENCE = (
    "You edit code. Rewrite the region as instructed and output only the rewritten region in one "
    "fenced code block."
)
_PLAIN = (
    "You edit code. Rewrite the region as instructed and output only the rewritten region, "
    "without a fence and without comments on it."
)
_SEARCH_REPLACE = """\
You edit code. Change the region as instructed and output only search/replace blocks, all of them \
in one fenced code block. Each block has lines of the region that change, exactly as they are, and \
then the lines in their place:
{search}
old lines
{divider}
new lines
{replace}"""
_UNIFIED_DIFF = (
    "You edit code. Change the region as instructed and output only a unified diff of the region "
    "in one fenced code block: every line that stays begins with a space, every line that goes "
    "with -, every new line with +."
)
_TOOL_CALL = (
    f"You edit code. Change the region as instructed by calling {TOOL}: {OLD} has the lines of the "
    f"region that change, exactly as they are, {NEW} the lines in their place."
)
_CALL_AS_JSON = (
    f" A call is a JSON object and nothing else: "
    f"{json.dumps({'name': TOOL, 'arguments': {PATH: '...', OLD: '...', NEW: '...'}})}"
)


class Asked(NamedTuple):
    """A format for one document, and what the model is told about it."""

    form: EmissionFormat
    system: str
    tools: list[Mapping[str, Any]]


def ask_for(
    name: EditFormat,
    path: str,
    texts: tuple[str, ...],
    template: ChatTemplate,
    special_texts: frozenset[str],
) -> Asked:
    """The format called `name` for the document at `path`, which has all of `texts`."""
    if name == "plain":
        return Asked(PlainFormat(), _PLAIN, [])
    if name == "unified-diff":
        return Asked(UnifiedDiffFormat.for_document(path, *texts), _UNIFIED_DIFF, [])
    if name == "tool-call":
        return _tool_call(path, texts, template, special_texts)
    if name == "search-replace":
        form = SearchReplaceFormat.for_document(path, *texts)
        told = _SEARCH_REPLACE.format(
            search=form.search_line, divider=form.divider, replace=form.replace_line
        )
        return Asked(form, told, [])
    return Asked(FenceFormat.for_document(path, *texts), _FENCE, [])


def _tool_call(
    path: str, texts: tuple[str, ...], template: ChatTemplate, special_texts: frozenset[str]
) -> Asked:
    syntax = call_syntax(template, special_texts)
    if syntax is None:
        return Asked(ToolCallFormat(path), _TOOL_CALL + _CALL_AS_JSON, [])
    tags = (syntax.before_old, syntax.before_new, syntax.after)
    if not syntax.escaped and any(tag in text for tag in tags for text in (path, *texts)):
        # Between tags, a text that has them could not be told from its end.
        return Asked(ToolCallFormat(path, JSON_CALL), _TOOL_CALL + _CALL_AS_JSON, [])
    return Asked(ToolCallFormat(path, syntax, special_texts), _TOOL_CALL, [EDIT_TOOL])
