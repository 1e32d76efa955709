"""An answer's body as it must stand in the document: line ends, indentation, blank borders.

The model sees and writes `\\n` only, and small models lose an indentation, or a blank line at a
border. Whatever the model cannot have meant to change is put back byte for byte.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from copydraft.emission.format import Part
from copydraft.protocol import Span
from copydraft.textedits import align, line_end, split_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_ABOUT_INDENTATION = re.compile(r"\b(?:un|re|in|de|out)+dent|\btabs?\b|\bspaces\b", re.IGNORECASE)
_ABOUT_BLANKS = re.compile(r"\b(?:blank|empty)\b", re.IGNORECASE)


class _Line(NamedTuple):
    indent: str
    rest: str
    end: str


def restore(
    body: str,
    region: Sequence[str],
    default_end: str,
    instruction: str,
    *,
    rewritten: bool = True,
) -> list[Part]:
    """The parts of `body` that make up the region's new text, in order.

    `body` is the region's new text as the model wrote it; `region` has the region's lines with
    their ends, and new lines get `default_end`. An instruction about indentation or blank lines
    leaves these to the model, and so does an answer that did not have to write the whole region:
    not `rewritten`.
    """
    offset = 0
    old = [_parse(line) for line in region]
    new = [_parse(line) for line in split_lines(body)]
    keep_blanks = rewritten and not _ABOUT_BLANKS.search(instruction)
    lost_head = _lost_blanks(old, new) if keep_blanks else 0
    lost_tail = _lost_blanks(old[::-1], new[::-1]) if keep_blanks else 0
    indents = [line.indent for line in new]
    if rewritten and not _ABOUT_INDENTATION.search(instruction):
        reindent = _reindentation(old, new)
        indents = [reindent(line.indent) if line.rest else line.indent for line in new]
    ends = _line_ends(old, new, indents, default_end)
    if new and not lost_tail and not old[-1].end:
        ends[-1] = ""

    parts = [Part("".join(region[:lost_head]), offset, offset)]
    for line, indent, end in zip(new, indents, ends, strict=True):
        for was, text in ((line.indent, indent), (line.rest, line.rest), (line.end, end)):
            parts.append(Part(text, offset, offset + len(was)))
            offset += len(was)
    parts.append(Part("".join(region[len(region) - lost_tail :]), offset, offset))
    return [part for part in parts if part.text]


def map_spans(parts: Sequence[Part], spans: Sequence[Span], path: str) -> list[Span]:
    """Spans that cover an answer as spans that cover the text made up of `parts`."""
    found: list[Span] = []
    for length, corpus, source in _sources(parts, spans, path):
        start = at = found[-1].end if found else 0
        if found and (found[-1].corpus, found[-1].path) == (corpus, source):
            start = found.pop().start
        found.append(Span(start=start, end=at + length, corpus=corpus, path=source))
    return found


def _sources(
    parts: Sequence[Part], spans: Sequence[Span], path: str
) -> Iterator[tuple[int, str, str]]:
    """Length, corpus and path of every stretch of text that has one source."""
    ends = [span.end for span in spans]
    for part in parts:
        if part.start == part.end:
            yield len(part.text), "region", path
            continue
        index = bisect_right(ends, part.start)
        if len(part.text) != part.end - part.start:
            yield len(part.text), spans[index].corpus, spans[index].path
            continue
        at = part.start
        while at < part.end:
            span = spans[index]
            yield min(span.end, part.end) - at, span.corpus, span.path
            at = min(span.end, part.end)
            index += at == span.end


def _parse(line: str) -> _Line:
    end = line_end(line)
    content = line[: len(line) - len(end)]
    rest = content.lstrip()
    return _Line(content[: len(content) - len(rest)], rest, end)


def _lost_blanks(old: Sequence[_Line], new: Sequence[_Line]) -> int:
    """How many of the blank lines that `old` begins with are missing in `new`."""
    before, after = (sum(1 for _ in takewhile(_is_blank, lines)) for lines in (old, new))
    if before == len(old) or after == len(new):
        return 0
    return max(0, before - after)


def _is_blank(line: _Line) -> bool:
    return not line.rest


def _line_ends(
    old: Sequence[_Line], new: Sequence[_Line], indents: Sequence[str], default: str
) -> list[str]:
    """Unchanged lines keep their own end, which in a file of mixed ends is not the default."""
    ends = [default] * len(new)
    if any(line.end != default for line in old):
        contents = [indent + line.rest for indent, line in zip(indents, new, strict=True)]
        for i, j in align([line.indent + line.rest for line in old], contents):
            ends[j] = old[i].end or default
    return ends


def _same(indent: str) -> str:
    return indent


def _reindentation(old: Sequence[_Line], new: Sequence[_Line]) -> Callable[[str], str]:
    """What mends the indentation if the model changed all of it in one and the same way.

    Lines that only moved tell what it did. A block that was wrapped or unwrapped has moved too,
    but then its outermost line stands where the region's did, and nothing is to be mended.
    """
    pairs = [
        (old[i].indent, new[j].indent)
        for i, j in align([line.rest for line in old], [line.rest for line in new])
        if any(map(str.isalnum, old[i].rest))
    ]
    telling = sum(any(map(str.isalnum, line.rest)) for line in old)
    if 2 * len(pairs) < max(telling, 1) or all(was == now for was, now in pairs):
        return _same
    for unit in ("    ", "  ", "        "):
        if all(was.replace("\t", unit) == now for was, now in pairs):
            return lambda indent: indent.replace(unit, "\t")
        if all(was == now.replace("\t", unit) for was, now in pairs):
            return lambda indent: indent.replace("\t", unit)
    outermost_old, outermost_new = (
        min((line.indent for line in lines if line.rest), key=len) for lines in (old, new)
    )
    dropped = outermost_old.removesuffix(outermost_new)
    if all(was == dropped + now for was, now in [*pairs, (outermost_old, outermost_new)]):
        return lambda indent: dropped + indent
    added = outermost_new.removesuffix(outermost_old)
    if all(added + was == now for was, now in [*pairs, (outermost_old, outermost_new)]):
        return lambda indent: indent.removeprefix(added)
    return _same
