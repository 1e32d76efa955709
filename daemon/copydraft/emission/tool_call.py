"""Tool calls: old and new text as arguments of `edit_file`, in the model's own syntax.

Most models write arguments as JSON, where a text is other characters than in a file; some (Qwen3.5,
GLM) write them as they are, between tags. Which one, and what stands around them, is read from the
model's chat template (`prompts/tools.py`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from copydraft.emission.calls import json_text
from copydraft.emission.fence import whole_lines
from copydraft.emission.format import Part, Printed, cut_off, misplaced
from copydraft.emission.replacing import Replacement, replaced, unique_changes
from copydraft.textedits import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from copydraft.protocol import EditFormat

TOOL = "edit_file"
PATH, OLD, NEW = "path", "old", "new"

_BORDER = re.compile(r'\s*"\Z')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?', re.DOTALL)
_PIECE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]+",
    re.DOTALL,
)
_CLOSING_TAG = re.compile(r"\s*<[^>]*>")
_SLACK = 8
_DECODER = json.JSONDecoder(strict=False)  # a line end or a tab as it is has one meaning only


class CallSyntax(NamedTuple):
    """What stands around path, old and new text in a call, quotation marks included."""

    before_path: str
    before_old: str
    before_new: str
    after: str
    escaped: bool
    """Values are JSON strings; else they stand there as they are."""


JSON_CALL = CallSyntax(
    f'{{"name": "{TOOL}", "arguments": {{"{PATH}": "',
    f'", "{OLD}": "',
    f'", "{NEW}": "',
    '"}}',
    True,
)
"""For models whose template knows no tools."""


@dataclass(frozen=True)
class ToolCallFormat:
    """Calls for the file at `path`."""

    path: str
    syntax: CallSyntax = JSON_CALL
    hidden: frozenset[str] = frozenset()
    """Spellings of control tokens: parts of the syntax that do not show in an answer."""
    name: EditFormat = "tool-call"
    rewrites: bool = False

    @property
    def opening(self) -> str:
        """Up to the path; a quotation mark is left to the model, which may join it to letters."""
        return self._border(self.syntax.before_path)

    def emit(self, old: str, new: str) -> str:
        before, after = split_lines(whole_lines(old)), split_lines(whole_lines(new))
        found = unique_changes(before, after)
        first, last = found[0], found[-1]
        s = self.syntax
        return "".join(
            [
                s.before_path + self._encoded(self.path),
                s.before_old + self._encoded("".join(before[first.old_start : last.old_end])),
                s.before_new + self._encoded("".join(after[first.new_start : last.new_end])),
                s.after,
            ]
        )

    def printed(self, path: str, text: str) -> list[Printed]:
        s = self.syntax
        return [
            self._printed(PATH, s.before_path, path, s.before_old),
            self._printed(OLD, s.before_old, text, s.before_new),
            self._printed(NEW, s.before_new, text, s.after),
        ]

    def reader(self) -> JsonCallReader | TaggedCallReader:
        room = len(self.syntax.after) + len(self.syntax.before_path) + _SLACK
        if self.syntax.escaped:
            return JsonCallReader(room)
        return TaggedCallReader(self._begin, self._end, room)

    def parse(self, answer: str, region: str, *, ended: bool) -> list[Part]:
        calls = self._json_calls(answer) if self.syntax.escaped else self._tagged_calls(answer)
        try:
            found = list(calls)
        except _Broken:
            if not ended:
                raise cut_off() from None
            raise misplaced("the model's tool call is broken") from None
        if not (ended or self._is_whole(answer)):
            raise cut_off()
        if not found:
            raise misplaced("the model answered without a tool call")
        return replaced(region, found, lines=False)

    @property
    def _begin(self) -> str:
        """How a call begins, as far as it shows in an answer."""
        return self._shown(self.opening)[-1].strip()

    @property
    def _end(self) -> str:
        return self._shown(self.syntax.after)[0].rstrip()

    def _is_whole(self, answer: str) -> bool:
        """It ends with a call, which at the limit may lack what closes it behind the arguments."""
        return answer.rstrip().endswith((self._end, "}") if self.syntax.escaped else self._end)

    def _shown(self, text: str) -> list[str]:
        hidden = [spelling for spelling in self.hidden if spelling and spelling in text]
        return re.split("|".join(map(re.escape, hidden)), text) if hidden else [text]

    def _border(self, opening: str) -> str:
        return _BORDER.sub("", opening) if self.syntax.escaped else opening

    def _encoded(self, text: str) -> str:
        return json_text(text) if self.syntax.escaped else text

    def _printed(self, field: str, opening: str, text: str, following: str) -> Printed:
        shown = self._shown(opening)[-1]
        before = self._border(shown)
        closing = _CLOSING_TAG.match(following)
        end = closing[0] if closing and not self.syntax.escaped else following[:1]
        return Printed(field, before, shown[len(before) :] + self._encoded(text) + end)

    def _json_calls(self, answer: str) -> Iterator[Replacement]:
        at = answer.find("{")
        while at >= 0:
            try:
                call, end = _DECODER.raw_decode(answer, at)
            except (ValueError, RecursionError):
                if any(word in answer[at:] for word in (TOOL, f'"{PATH}"', f'"{OLD}"')):
                    raise _Broken from None
                return  # braces in prose
            values = _string_values(answer, at, end)
            at = answer.find("{", end)
            if not values.keys() & {PATH, OLD, NEW}:
                continue
            for name in (OLD, NEW):
                given = list(_values_of(call, name))
                if not given:
                    raise misplaced(f"the model's tool call lacks the argument {name!r}")
                # Of a list, or of several, half an edit would be made.
                if len(given) > 1 or not isinstance(given[0], str):
                    raise misplaced(f"the model's tool call gives {name!r} not as one text")
            parts = {name: _unescaped(answer, *values[name]) for name in (OLD, NEW)}
            old = "".join(part.text for part in parts[OLD])
            yield _replacement(old, parts[NEW])

    def _tagged_calls(self, answer: str) -> Iterator[Replacement]:
        s = self.syntax
        call = re.compile(
            "(.*?)".join(map(re.escape, (self._begin, s.before_old, s.before_new, self._end))),
            re.DOTALL,
        )
        end = 0
        for match in call.finditer(answer):
            end = match.end()
            yield _replacement(match[2], [Part(match[3], *match.span(3))])
        if self._begin in answer[end:]:
            raise _Broken


class JsonCallReader:
    """Complete once more text follows the last call than could stand before another one."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._depth = 0
        self._in_string = self._escape = False
        self._beyond: int | None = None
        """Characters since the last call was closed."""

    def feed(self, delta: str) -> bool:
        for sign in delta:
            self._take(sign)
        return self._beyond is not None and self._beyond > self._room

    def _take(self, sign: str) -> None:
        if self._beyond is not None:
            self._beyond += 1
        if self._in_string:
            self._in_string = self._escape or sign != '"'
            self._escape = sign == "\\" and not self._escape
        elif sign == '"' and self._depth:
            self._in_string = True
        elif sign == "{":
            self._depth += 1
            self._beyond = None
        elif sign == "}" and self._depth:
            self._depth -= 1
            self._beyond = None if self._depth else 0


class TaggedCallReader:
    """As `JsonCallReader`, for calls between tags, each from `begin` to `end`."""

    def __init__(self, begin: str, end: str, room: int) -> None:
        self._begin, self._close, self._room = begin, end, room
        self._text = ""
        self._end: int | None = None
        """Where the last call was closed, while no other one has begun."""

    def feed(self, delta: str) -> bool:
        seen = max(0, len(self._text) - len(self._close))
        self._text += delta
        if (at := self._text.rfind(self._close, seen)) >= 0:
            self._end = at + len(self._close)
        if self._end is not None and self._begin in self._text[self._end :]:
            self._end = None
        return self._end is not None and len(self._text) - self._end > self._room


def _replacement(old: str, new: list[Part]) -> Replacement:
    """As the model wrote it; but whole lines stay whole lines, not joined to what follows."""
    if old.endswith("\n") and new and new[-1].text[-1:] not in ("", "\n"):
        new = [*new, Part("\n", 0, 0)]
    return Replacement(old, new)


class _Broken(Exception):
    """A call that cannot be read to its end."""


def _string_values(answer: str, start: int, end: int) -> dict[str, tuple[int, int]]:
    """Where the strings stand that are values in the JSON object `answer[start:end]`, by key."""
    found: dict[str, tuple[int, int]] = {}
    key = ""
    for match in _STRING.finditer(answer, start, end):
        if match[2]:
            key = match[1]
        elif key:
            found.setdefault(key, match.span(1))
            key = ""
    return found


def _values_of(data: Any, key: str) -> Iterator[Any]:
    """The values that `key` has anywhere in decoded JSON."""
    for name, value in data.items() if isinstance(data, dict) else enumerate(data):
        if name == key:
            yield value
        elif isinstance(value, dict | list):
            yield from _values_of(value, key)


def _unescaped(answer: str, start: int, end: int) -> list[Part]:
    """The JSON string's body `answer[start:end]` as text, every escape a part of its own."""
    parts = [
        Part(json.loads(f'"{match[0]}"') if match[0].startswith("\\") else match[0], *match.span())
        for match in _PIECE.finditer(answer, start, end)
    ]
    if any("\ud800" <= sign <= "\udfff" for part in parts for sign in part.text):
        raise misplaced("the model's tool call escapes half a character")
    return parts
