"""The definition around a line, found by indentation and the words that languages begin one with.

No parser: it has to do for any language, and what is offered is shown before it is done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_HEADER = re.compile(
    r"""\s*
    (?:(?:export|default|public|private|protected|internal|static|final|abstract|override|virtual
      |async|unsafe|extern|inline|constexpr|pub(?:\([^)]*\))?|open|sealed|data|local)\s+)*
    (?:def|class|function\*?|fn|func|fun|sub|proc|interface|struct|enum|trait|impl|module|namespace
      |union|type|record|object|macro)\s+
    (?:\([^)]*\)\s*)?
    (?P<name>[\w$.:?!]+)""",
    re.VERBOSE,
)
_DECORATION = re.compile(r"\s*(?:@\w|#\[|\[\w)")
_CLOSING = re.compile(r"\s*(?:[}\])]|end\b)")
LONGEST = 200
"""Lines; a longer definition is not offered whole."""


class Block(NamedTuple):
    """Lines [start, end) that define `name`."""

    start: int
    end: int
    name: str


def enclosing(lines: Sequence[str], line: int) -> Block | None:
    """The innermost definition that has `line` in it; None where there is none."""
    if not 0 <= line < len(lines):
        return None
    for start in range(line, max(-1, line - LONGEST), -1):
        found = _HEADER.match(lines[start])
        if found and (end := _end(lines, start)) > line:
            first = _decorated(lines, start)
            return Block(first, end, found["name"].rstrip(":")) if end - first <= LONGEST else None
    return None


def _decorated(lines: Sequence[str], start: int) -> int:
    """Where the decorations begin that stand directly above line `start`."""
    while start > 0 and _DECORATION.match(lines[start - 1]):
        start -= 1
    return start


def _end(lines: Sequence[str], start: int) -> int:
    """The line behind the block that line `start` begins: deeper lines, and what closes them."""
    depth = _indent(lines[start])
    end = start + 1
    for at in range(start + 1, len(lines)):
        line = lines[at]
        if not line.strip():
            continue
        if _indent(line) < depth or (_indent(line) == depth and not _continues(line)):
            break
        end = at + 1
        if _indent(line) == depth and _is_last(line):
            break
    return end


def _continues(line: str) -> bool:
    """Whether a line at the header's own depth still belongs to the block."""
    return bool(_CLOSING.match(line)) or line.strip() == "{"


def _is_last(line: str) -> bool:
    """A closing line ends the block; a parenthesis ends the header only, as in `) -> int:`."""
    return bool(_CLOSING.match(line)) and not line.lstrip().startswith(")")


def _indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())
