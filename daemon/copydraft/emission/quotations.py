"""How an answer quotes an old text before it writes the new one, as tokens."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from copydraft.emission.search_replace import DIVIDER, SEARCH_LINE
from copydraft.tokens import Quotation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from copydraft.emission.calls import CallShape, Schemas
    from copydraft.tokens import Tokenizer

Tokens = tuple[int, ...]


def in_calls(shape: CallShape, tools: Schemas, tokenizer: Tokenizer) -> list[Quotation]:
    """Texts that follow one another in a call: the second may be the first one, rewritten.

    So it is with the editing tools of agents (`old_string` and `new_string`, `old_str` and
    `new_str`, …), whatever they are called.
    """
    keys = {
        pair for schema in tools.values() for names in _texts(schema) for pair in pairwise(names)
    }

    def before_value(key: str) -> Tokens:
        return _tokens(*shape.around_key(key), tokenizer)

    return _told_apart([(before_value(old), before_value(new)) for old, new in sorted(keys)])


def in_blocks(tokenizer: Tokenizer) -> list[Quotation]:
    """Search/replace blocks, as agents that call no tools have them written."""
    old, new = (_tokens("\n", line, "\nx", tokenizer) for line in (SEARCH_LINE, DIVIDER))
    return _told_apart([(old, new)])


def _texts(schema: Mapping[str, Any]) -> Iterator[list[str]]:
    """Names of the members that are texts, in their order: of the arguments, and of each object
    that is among them or in a list there.
    """
    left: list[object] = [schema]
    while left:
        match left.pop():
            case {"properties": dict() as members}:
                yield [name for name, kind in members.items() if _is_text(kind)]
                left += members.values()
            case {"items": items}:
                left.append(items)


def _is_text(kind: object) -> bool:
    return isinstance(kind, dict) and kind.get("type") == "string"


def _tokens(before: str, text: str, behind: str, tokenizer: Tokenizer) -> Tokens:
    """Tokens that begin within `text`, where it stands between the others.

    The last of them may go on behind it: a line end belongs to the signs before it.
    """
    end = len(behind.encode())
    start = end + len(text.encode())
    found = []
    left = 0
    # From the end: in front, some vocabularies add a blank.
    for token in reversed(tokenizer.encode(before + text + behind)):
        left += len(tokenizer.piece(token))
        if left > start:
            break
        if left > end:
            found.append(token)
    return tuple(reversed(found))


def _told_apart(pairs: list[tuple[Tokens, Tokens]]) -> list[Quotation]:
    """Those whose openings have tokens of their own."""
    return [Quotation(old, new) for old, new in pairs if old and new and old != new]
