"""How a model calls a tool, read from its own chat template, whatever the model is.

The template is shown a conversation that ends in a call whose arguments can be found again. What it
prints around them is the syntax; whether they come out as JSON or as they are is seen, too.
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Any

from copydraft.emission.tool_call import NEW, OLD, PATH, TOOL, CallSyntax
from copydraft.errors import ModelProblem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from copydraft.prompts.template import ChatTemplate

_ARGUMENTS = {
    PATH: "The file to change",
    OLD: "Lines of the region that change, exactly as they are, enough of them to be found once",
    NEW: "The lines in their place",
}

_THINKING = re.compile(r"\A\s*(?:<(?:\w+:)?think\w*>)?\s*</(?:\w+:)?think\w*>\s*")
_BETWEEN_WORDS = re.compile(r"[\s>\]]")

EDIT_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": TOOL,
        "description": "Put new lines in the place of old ones in a file.",
        "parameters": {
            "type": "object",
            "properties": {
                name: {"type": "string", "description": told} for name, told in _ARGUMENTS.items()
            },
            "required": list(_ARGUMENTS),
        },
    },
}


def call_syntax(template: ChatTemplate, special_texts: frozenset[str]) -> CallSyntax | None:
    """How the model calls `edit_file`; None if its template shows it no tools, or no call."""
    key = secrets.token_hex(4)
    # A quotation mark and a line end tell whether a value is escaped.
    values = {name: f'{key}{name}"\n{key}' for name in _ARGUMENTS}
    json_values = {name: text.replace('"\n', '\\"\\n') for name, text in values.items()}
    as_json = "{" + ", ".join(f'"{name}": "{text}"' for name, text in json_values.items()) + "}"
    # Most templates want the arguments as an object, some as the JSON that an API gives.
    for arguments in (values, as_json):
        try:
            asked, called = _rendered(template, arguments)
        except ModelProblem:
            continue
        if TOOL not in asked:
            continue
        answer = _THINKING.sub("", called[_turn_start(asked, called) :])
        for texts, escaped in ((json_values, True), (values, False)):
            if found := _around(answer, list(texts.values()), special_texts, escaped=escaped):
                return found
    return None


def escapes_calls(template: ChatTemplate, special_texts: frozenset[str]) -> bool:
    """Whether the model writes the arguments of tool calls as JSON, not as they are."""
    syntax = call_syntax(template, special_texts)
    return syntax is None or syntax.escaped  # without a syntax of its own, it is asked for JSON


def _turn_start(asked: str, called: str) -> int:
    """Where the model's turn begins in `called`: behind `asked`, or the part of it that is there.

    A turn may be opened with an empty thinking block that an answer does not have.
    """
    if called.startswith(asked):
        return len(asked)
    size = next((i for i, (a, b) in enumerate(zip(asked, called, strict=False)) if a != b), 0)
    # Two tags may begin alike.
    return max((match.end() for match in _BETWEEN_WORDS.finditer(called, 0, size)), default=0)


def _rendered(template: ChatTemplate, arguments: Mapping[str, str] | str) -> tuple[str, str]:
    """The conversation before the call and with it."""
    call = {
        "type": "function",
        "id": "a1b2c3d4e",  # Mistral's templates want nine letters and digits
        "function": {"name": TOOL, "arguments": arguments},
    }
    user = {"role": "user", "content": "Edit."}
    assistant = {"role": "assistant", "content": "", "tool_calls": [call]}
    asked = template.sample([user], [EDIT_TOOL], add_generation_prompt=True)
    return asked, template.sample([user, assistant], [EDIT_TOOL], add_generation_prompt=False)


def _around(
    answer: str, texts: Sequence[str], special_texts: frozenset[str], *, escaped: bool
) -> CallSyntax | None:
    """What stands around `texts`, if each is in `answer` once, in this order."""
    parts = []
    for text in texts:
        before, found, answer = answer.partition(text)
        if not found or (escaped and not before.endswith('"')):
            return None
        parts.append(before)
    if TOOL not in parts[0]:
        return None
    # A control token behind the call ends it, or the turn: neither shows in the answer's text.
    ends = [at for special in special_texts if special and (at := answer.find(special)) >= 0]
    after = answer[: min(ends, default=len(answer))].rstrip()
    path, old, new = parts
    return CallSyntax(path, old, new, after, escaped) if after else None
