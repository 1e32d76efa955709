"""How a model calls a tool, read from its own chat template, whatever the model is.

The template is shown a conversation that ends in a call whose name and arguments can be found
again. What it prints around them is the shape; whether the arguments come out as JSON or as they
are is seen, too.
"""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING, Any

from copydraft.emission.calls import CallShape, Tags
from copydraft.emission.tool_call import NEW, OLD, PATH, TOOL, CallSyntax
from copydraft.errors import ModelProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from copydraft.prompts.template import ChatTemplate

_ARGUMENTS = {
    PATH: "The file to change",
    OLD: "Lines of the region that change, exactly as they are, enough of them to be found once",
    NEW: "The lines in their place",
}

_THINKING = re.compile(r"\A\s*(?:<(?:\w+:)?think\w*>)?\s*</(?:\w+:)?think\w*>\s*")
_BETWEEN_WORDS = re.compile(r"[\s>\]]")
_DECODER = json.JSONDecoder()


def schema_of(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as chat templates know it."""
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


EDIT_TOOL = schema_of(
    TOOL,
    "Put new lines in the place of old ones in a file.",
    {
        "type": "object",
        "properties": {
            name: {"type": "string", "description": told} for name, told in _ARGUMENTS.items()
        },
        "required": list(_ARGUMENTS),
    },
)


def call_shape(template: ChatTemplate, special_texts: frozenset[str]) -> CallShape | None:
    """How the model calls tools; None if its template shows it no tools, or no call."""
    key = secrets.token_hex(4)
    # A quotation mark and a line end tell whether a value is escaped.
    values = {name: f'{key}{name}"\n{key}' for name in _ARGUMENTS}
    # Most templates want the arguments as an object, some as the JSON that an API gives.
    for arguments in (values, json.dumps(values)):
        try:
            asked, called = _rendered(template, arguments)
        except ModelProblem:
            continue
        if TOOL not in asked:
            continue
        answer = _THINKING.sub("", called[_turn_start(asked, called) :])
        before, found, rest = answer.partition(TOOL)
        shape = _with_json(before, rest, values) or _with_tags(before, rest, values)
        if found and shape is not None:
            after = _until_end(shape.after, special_texts)
            if after:
                text = isinstance(arguments, str)
                return CallShape(before, shape.after_name, after, shape.tags, text)
    return None


def call_syntax(template: ChatTemplate, special_texts: frozenset[str]) -> CallSyntax | None:
    """How the model calls `edit_file`; None if its template shows it no tools, or no call."""
    shape = call_shape(template, special_texts)
    if shape is None:
        return None
    opening = shape.before_name + TOOL + shape.after_name
    if shape.tags is None:
        return CallSyntax(
            f'{opening}{{"{PATH}": "', f'", "{OLD}": "', f'", "{NEW}": "', f'"}}{shape.after}', True
        )
    after_key, between = shape.tags
    return CallSyntax(
        f"{opening}{PATH}{after_key}",
        f"{between}{OLD}{after_key}",
        f"{between}{NEW}{after_key}",
        shape.after,
        False,
    )


def _with_json(before: str, rest: str, values: Mapping[str, str]) -> CallShape | None:
    """Behind the name comes a JSON object, which holds the `values`."""
    start = rest.find("{")
    while start >= 0:
        try:
            found, end = _DECODER.raw_decode(rest, start)
        except ValueError:
            found = None
        if found == values:
            return CallShape(before, rest[:start], rest[end:])
        start = rest.find("{", start + 1)
    return None


def _with_tags(before: str, rest: str, values: Mapping[str, str]) -> CallShape | None:
    """Behind the name come keys and `values` as they are, in this order."""
    around = []
    for text in (text for pair in values.items() for text in pair):
        part, found, rest = rest.partition(text)
        if not found:
            return None
        around.append(part)
    after_name, after_key, between, *_ = around
    return CallShape(before, after_name, rest, Tags(after_key, between))


def _until_end(after: str, special_texts: frozenset[str]) -> str:
    """A control token behind the call ends it, or the turn: neither shows in the answer's text."""
    ends = [at for special in special_texts if special and (at := after.find(special)) >= 0]
    return after[: min(ends, default=len(after))].rstrip()


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
