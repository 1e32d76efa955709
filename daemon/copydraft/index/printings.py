"""In which ways documents are indexed: one for each way that answers print text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copydraft.emission.calls import json_text
from copydraft.index.tokenizing import PLAIN, Printing

if TYPE_CHECKING:
    from copydraft.protocol import EditFormat

JSON = Printing("json", "file", json_text)
"""As in the arguments of a tool call."""


def printing_of(edit_format: EditFormat, *, escaped: bool) -> Printing:
    """How text stands in answers of a format. Lines of the others are lines of the file.

    `escaped`: the model writes the arguments of tool calls as JSON, not as they are.
    """
    return JSON if edit_format == "tool-call" and escaped else PLAIN


def printings_for(edit_format: EditFormat, *, escaped: bool, agents: bool) -> list[Printing]:
    """What to index where `edit_format` is the usual one; explanations quote text as it is.

    `agents`: there are some to be served, which edit by calls of tools.
    """
    formats: list[EditFormat] = [edit_format, "tool-call"] if agents else [edit_format]
    return list(dict.fromkeys((PLAIN, *(printing_of(f, escaped=escaped) for f in formats))))
