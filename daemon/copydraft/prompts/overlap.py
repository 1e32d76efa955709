"""Lines around the region that a model writes again, though it was asked for the region only.

It completes a block that the selection cuts off, or starts at the top of the file: put in the
region's place, such lines would stand there twice.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_CLOSER = re.compile(
    r"\s*(?:</[^<>]*>|[)\]}>]+|\*/|-->|\"{3}|'{3}|end\w*|fi|done|esac)?[\s)\]};,.]*", re.IGNORECASE
)
"""Blank, or only closes a block: what an answer wraps around the region ends so too."""


def overlap(
    new: Sequence[str], region: Sequence[str], above: Sequence[str], below: Sequence[str]
) -> tuple[int, int]:
    """How many lines to take from the head and from the tail of `new`, which is for the region.

    `above` and `below` are the document's other lines. All lines are without their ends. What is
    taken away repeats the neighbours exactly, and leaves as many brackets open as the region
    does. Where the brackets do not show that it is too much, it has two lines that tell something.
    """
    tail = _repeated(new, region, below)
    kept = new[: len(new) - tail]
    # The same from the other side: lines and brackets do not mind being read backwards.
    return _repeated(kept[::-1], region[::-1], above[::-1]), tail


def _repeated(new: Sequence[str], region: Sequence[str], below: Sequence[str]) -> int:
    open_brackets = _open_brackets(region)
    for count in range(min(len(new), len(below)), 0, -1):
        again = list(below[:count])
        if list(new[-count:]) != again or list(region[-count:]) == again:
            continue
        telling = sum(1 for line in again if not _CLOSER.fullmatch(line))
        balanced = _open_brackets(new[:-count]) == open_brackets
        if balanced and (telling > 1 or _open_brackets(new) != open_brackets):
            return count
    return 0


def _open_brackets(lines: Sequence[str]) -> int:
    return sum(line.count(c) for line in lines for c in "([{") - sum(
        line.count(c) for line in lines for c in ")]}"
    )
