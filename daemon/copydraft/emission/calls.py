"""Calls of any tool in a model's answer: where they stand, and what they say.

How a model writes a call is read from its chat template (`prompts/tools.py`). Models are not exact
about blanks and about what opens a call, so neither is this; what is no call stays text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Schemas = Mapping[str, Mapping[str, Any]]
"""JSON schemas of arguments, by the tool's name."""

_DECODER = json.JSONDecoder(strict=False)  # a line end as it is in a string has one meaning only
_NAME = re.compile(r"\s*([\w.:/-]+)")
_OBJECT = re.compile(r"[\s,;\[\]]*(?={)")
_END_OF_LIST = re.compile(r"\s*\]")
_BORDER = re.compile(r'[ \t]*"?\Z|[ \t]+\Z')
_FENCE = re.compile(r"\A\s*```(?:json)?\s*|\s*```\s*\Z")
_FENCED_JSON = "```json"
_JSON_BEGINS = ('{"', '[{"', '```json{"', '```json[{"', '```{"', '```[{"')
"""Answers that may be nothing but calls, without blanks."""


class Tags(NamedTuple):
    """What stands around arguments that are written as they are, between tags."""

    after_key: str
    between: str
    """Behind a value, up to the next key."""


@dataclass(frozen=True)
class CallShape:
    """What stands around name and arguments of a call; control tokens by their spelling."""

    before_name: str
    after_name: str
    """Up to the JSON object of the arguments, or to the first key."""
    after: str
    """Behind the JSON object, or the last value."""
    tags: Tags | None = None
    """None: the arguments are a JSON object."""
    text_arguments: bool = False
    """The template wants earlier calls' arguments as JSON text, not as an object."""

    @property
    def escapes(self) -> bool:
        """Arguments are written as JSON, not as they are."""
        return self.tags is None

    @property
    def markup(self) -> str:
        """All that is neither name nor argument."""
        return self.before_name + self.after_name + self.after

    def printed(self, name: str, arguments: Mapping[str, Any] | str) -> str:
        """A call as the model would write it; `arguments` may be JSON text already."""
        if self.tags is None or isinstance(arguments, str):
            shown = arguments if isinstance(arguments, str) else _json(arguments)
        else:
            after_key, between = self.tags
            pairs = ((key, v if isinstance(v, str) else _json(v)) for key, v in arguments.items())
            shown = between.join(f"{key}{after_key}{value}" for key, value in pairs)
        return f"{self.before_name}{name}{self.after_name}{shown}{self.after}"

    def around_key(self, key: str) -> tuple[str, str, str]:
        """What stands before a key, what stands from it on, and how a text behind that begins."""
        if self.tags is None:
            return ', "', f'{key}":', ' "x'
        opening = key + self.tags.after_key
        shown = opening.rstrip()
        return self.tags.between, shown, f"{opening[len(shown) :]}x"

    @property
    def opening(self) -> str:
        """What every call begins with; "" where that is the JSON object itself, or the name."""
        if self.name_in_object:
            return self.before_name[: self.before_name.index("{")].rstrip(" \n[")
        # Of several tags, models forget all but the last.
        return "".join(self.before_name.split()[-1:])

    def opening_for(self, name: str) -> str:
        """What a call of the tool `name` begins with (""; of any tool), control tokens included.

        A blank or quotation mark at its end is left to the model, which may join it to letters.
        """
        text = f"{self.before_name}{name}{self.after_name}" if name else self.before_name
        return _BORDER.sub("", text)

    @property
    def name_in_object(self) -> bool:
        """Name and arguments are members of one JSON object."""
        return self.tags is None and "{" in self.before_name


HERMES = CallShape('<tool_call>\n{"name": "', '", "arguments": ', "}\n</tool_call>")
"""For models whose template knows no tools: they are told of this one."""


class Call(NamedTuple):
    """A call of a tool."""

    name: str
    arguments: str
    """A JSON object, as text."""


def json_text(text: str) -> str:
    """The text as it stands between the quotes of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def read_calls(answer: str, shape: CallShape, tools: Schemas) -> tuple[str, list[Call]]:
    """The text of an answer without its calls, and these.

    What begins like a call and cannot be read stays in the text.
    """
    opening = shape.opening
    if not opening or opening not in answer:
        start = 0 if _may_be_bare(answer) else answer.rfind(_FENCED_JSON)
        calls = _bare_calls(answer[start:], tools) if start >= 0 else []
        return (answer[:start].rstrip(), calls) if calls else (answer, [])
    text, found, at = "", [], 0
    while (start := answer.find(opening, at)) >= 0:
        end = start + len(opening)
        read = _calls_at(answer, end, shape, tools)
        if read is None:
            text += answer[at:end]
        else:
            calls, end = read
            found += calls
            text += _without_suffixes(answer[at:start], shape.before_name.split()[:-1])
            end = _behind(answer, end, shape.after.split())
        at = end
    text += answer[at:]
    return (text.rstrip() if found else text), found


def text_before_calls(answer: str, shape: CallShape, known: int = 0) -> int:
    """Characters from the start of an unfinished answer on that are sure to belong to no call.

    Blanks before a call belong to it. `known` of them were sure before: they are not looked at.
    """
    if not known and _may_be_bare(answer):
        return 0
    # A call may be opened by tags before the one that counts.
    tags = [tag for tag in (*shape.before_name.split()[:-1], shape.opening, _FENCED_JSON) if tag]
    found = [at for tag in tags if (at := answer.find(tag, known)) >= 0]
    begun = [
        len(answer) - size
        for tag in tags
        for size in range(1, len(tag))
        if answer.endswith(tag[:size], known)
    ]
    return known + len(answer[known : min(found or begun, default=len(answer))].rstrip())


def _may_be_bare(answer: str) -> bool:
    """Whether it begins like JSON, or may go on so."""
    begin = "".join(answer[:40].split())
    return any(sign.startswith(begin) or begin.startswith(sign) for sign in _JSON_BEGINS)


def _bare_calls(answer: str, tools: Schemas) -> list[Call]:
    """The calls in a text that is nothing but JSON; none if a part of it is something else."""
    text = _FENCE.sub("", answer).strip()
    objects, end = _objects(text, 0)
    calls = [call for each in objects if (call := _call_of(each)) and call.name in tools]
    return calls if end == len(text) and len(calls) == len(objects) else []


def _calls_at(
    answer: str, at: int, shape: CallShape, tools: Schemas
) -> tuple[list[Call], int] | None:
    """The calls behind an opening that ends at `at`, and where they end."""
    if shape.name_in_object:
        objects, end = _objects(answer, at)
        calls = [call for each in objects if (call := _call_of(each))]
        return (calls, end) if calls and len(calls) == len(objects) else None
    name = _NAME.match(answer, at)
    if name is None:
        return None
    if shape.tags is not None:
        schema = tools.get(name[1], {})
        tagged = _tagged_arguments(answer, name.end(), shape, shape.tags, schema)
        return ([Call(name[1], _json(tagged[0]))], tagged[1]) if tagged else None
    begin = _behind(answer, name.end(), shape.after_name.split())
    objects, end = _objects(answer, begin, most=1)
    return ([Call(name[1], _json(objects[0]))], end) if objects else None


def _objects(answer: str, at: int, most: int | None = None) -> tuple[list[dict[str, Any]], int]:
    """JSON objects from `at` on, alone or in a list, and where they end."""
    objects: list[dict[str, Any]] = []
    while most is None or len(objects) < most:
        begin = _OBJECT.match(answer, at)
        if begin is None:
            break
        try:
            found, at = _DECODER.raw_decode(answer, begin.end())
        except (ValueError, RecursionError):
            break
        objects.append(found)
    end = _END_OF_LIST.match(answer, at) if objects else None
    return objects, end.end() if end else at


def _call_of(found: Mapping[str, Any]) -> Call | None:
    """A call that was written as one object; some models wrap it, as APIs do."""
    if isinstance(inner := found.get("function"), dict):
        found = inner
    name = found.get("name")
    arguments = found.get("arguments", found.get("parameters", {}))
    if isinstance(arguments, str):
        try:
            arguments = _DECODER.decode(arguments)
        except ValueError:
            return None
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    return Call(name, _json(arguments))


def _tagged_arguments(
    answer: str, at: int, shape: CallShape, tags: Tags, schema: Mapping[str, Any]
) -> tuple[dict[str, Any], int] | None:
    """Arguments between tags, from behind the name at `at`, and where they end."""
    closing = shape.after.split()
    opened = _loose(shape.after_name).match(answer, at)
    if opened is None:
        empty = re.compile(r"[^<]{0,8}" + _at_end(closing[1:])).match(answer, at)
        return ({}, empty.end()) if empty else None
    after_key = _loose(tags.after_key)
    behind = re.compile(f"(?P<next>{_loose(tags.between).pattern})|\n?{_at_end(closing)}")
    types = schema.get("properties", {})
    arguments: dict[str, Any] = {}
    while True:
        key = after_key.search(answer, opened.end())
        end = behind.search(answer, key.end()) if key else None
        if key is None or end is None:
            return None
        name = answer[opened.end() : key.start()]
        arguments[name] = _typed(answer[key.end() : end.start()], types.get(name))
        if end["next"] is None:
            return arguments, end.end()
        opened = end


def _typed(value: str, schema: object) -> Any:
    """A value as its schema wants it: a text, unless that says otherwise."""
    kind = schema.get("type", "string") if isinstance(schema, dict) else "string"
    if "string" in kind:
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _loose(separator: str) -> re.Pattern[str]:
    """What stands between two values, whatever blanks a model writes in it."""
    first = r"\n?" if separator.startswith("\n") else ""
    last = r"\n?" if separator.endswith("\n") else ""
    return re.compile(first + r"\s*".join(map(re.escape, separator.split())) + last)


def _at_end(parts: list[str]) -> str:
    """A pattern of all parts; of the first ones only, where the answer ends behind them."""
    blanks = r"\s*"
    escaped = [re.escape(part) for part in parts]
    starts = (blanks.join(escaped[:size]) + r"\s*\Z" for size in range(len(parts), 0, -1))
    return f"(?:{'|'.join((blanks.join(escaped), *starts))})"


def _behind(answer: str, at: int, parts: list[str]) -> int:
    """Where the text goes on, past those of `parts` that stand at `at`."""
    for part in parts:
        begin = at + len(answer[at:]) - len(answer[at:].lstrip())
        if answer.startswith(part, begin):
            at = begin + len(part)
    return at


def _without_suffixes(text: str, suffixes: list[str]) -> str:
    for suffix in reversed(suffixes):
        text = text.rstrip().removesuffix(suffix)
    return text.rstrip()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
