"""One line of a .gitignore as a regular expression that matches what git's own matcher does.

A path is judged for itself: that what is below an ignored directory is ignored, too, is up to who
walks there. Everything is bytes to git; here they are characters up to U+00FF (`of_bytes`).

Why not pathspec: it ignores directories that a list of exceptions (`*`, `!*/`, `!*.py`) lets git
walk into, knows no `[[:alpha:]]`, and was seen to take 0.8 s for one name and six stars, where what
is indexed must never be more than git would show, and a foreign repository must not stop the
daemon.
"""

from __future__ import annotations

import re
import string
from typing import NamedTuple

_SPECIAL = frozenset("*?[\\")
_LONGEST = 4096
"""No path has more bytes. A longer pattern takes minutes to translate."""
_ALL = frozenset(map(chr, range(256)))
_GRAPHIC = frozenset(string.ascii_letters + string.digits + string.punctuation)
_CLASSES = {
    "alnum": frozenset(string.ascii_letters + string.digits),
    "alpha": frozenset(string.ascii_letters),
    "blank": frozenset(" \t"),
    "cntrl": frozenset(map(chr, [*range(32), 127])),
    "digit": frozenset(string.digits),
    "graph": _GRAPHIC,
    "lower": frozenset(string.ascii_lowercase),
    "print": _GRAPHIC | {" "},
    "punct": frozenset(string.punctuation),
    "space": frozenset(" \t\n\r"),
    "upper": frozenset(string.ascii_uppercase),
    "xdigit": frozenset(string.hexdigits),
}


def of_bytes(path: bytes) -> str:
    """Bytes as the characters that patterns are matched against."""
    return path.decode("latin-1")


class Pattern(NamedTuple):
    """What one line ignores, or with ! does not."""

    regex: re.Pattern[str]
    """Of a whole path below the file's directory, or of its last part."""
    ignores: bool
    of_name: bool
    """It is matched against the last part of a path, wherever that stands."""
    of_directory: bool
    """It is for directories only."""

    def matches(self, path: str, name: str, *, is_directory: bool) -> bool:
        """`path` has no / at its end; `name` is the last part of it."""
        if self.of_directory and not is_directory:
            return False
        return self.regex.fullmatch(name if self.of_name else path) is not None


EVERYTHING = Pattern(re.compile(".*", re.DOTALL), ignores=True, of_name=True, of_directory=False)


def parse(line: str) -> Pattern | None:
    """The pattern of a line without its end; None if it is a comment or can match nothing.

    One that is longer than any path is not understood, and may ignore everything.
    """
    if line.startswith("#"):
        return None
    text = _without_blanks(line.partition("\0")[0])
    ignores = not text.startswith("!")
    text = text.removeprefix("!")
    if len(text) > _LONGEST:
        return EVERYTHING if ignores and not _SPECIAL.isdisjoint(text) else None
    of_directory = text.endswith("/")
    text = text.removesuffix("/")
    of_name = "/" not in text
    if not of_name:
        text = text.removeprefix("/")
    # To git, the text before the first special sign is no part of what it matches by: a ** right
    # behind it stands at the start, and matches any number of directories.
    plain = 0
    if not of_name:
        plain = next((i for i, sign in enumerate(text) if sign in _SPECIAL), len(text))
    regex = _translated(text[plain:])
    if not text or regex is None:
        return None
    whole = re.compile(re.escape(text[:plain]) + regex, re.DOTALL)
    return Pattern(whole, ignores, of_name, of_directory)


def _without_blanks(line: str) -> str:
    """Without the blanks at its end, save one that a backslash stands before."""
    end = len(line.rstrip(" "))
    backslashes = end - len(line[:end].rstrip("\\"))
    return line[: end + 1] if backslashes % 2 else line[:end]


class _Level:
    """Parts of a regular expression with something of any length between them.

    Only the last of these need ever be tried with another length: where the parts before it are
    found first is as good as any place. So no pattern takes long, whoever wrote it.
    """

    def __init__(self, anything: str) -> None:
        self._anything = anything
        self._parts = [""]

    def add(self, regex: str) -> None:
        self._parts[-1] += regex

    def gap(self) -> None:
        self._parts.append("")

    def regex(self) -> str:
        first, *others = self._parts
        if not others:
            return first
        *middle, last = others
        found = "".join(f"(?>{self._anything}?{part})" for part in middle)
        return f"{first}{found}{self._anything}{last}"


def _translated(text: str) -> str | None:
    """The regular expression of a pattern, None if it matches nothing."""
    path, name = _Level("(?:[^/]*/)*"), _Level("[^/]*")
    at = 0
    while at < len(text):
        if text[at] == "*":
            at, crosses = _stars(text, at)
            if not crosses:
                name.gap()
            elif at == len(text):
                path.add(".*")
            elif text[at] == "\\":
                # To git, a / behind a backslash has a directory before it.
                path.add("[^/]*/")
                path.gap()
                at += 2
            else:
                path.gap()
                at += 1
        elif text[at] == "/" or text.startswith("\\/", at):
            path.add(name.regex() + "/")
            name = _Level("[^/]*")
            at += 1 if text[at] == "/" else 2
        else:
            regex, at = _sign(text, at)
            if regex is None:
                return None
            name.add(regex)
    path.add(name.regex())
    return path.regex()


def _stars(text: str, at: int) -> tuple[int, bool]:
    """Where the stars end that begin at `at`, and whether they match any number of directories."""
    end = len(text) - len(text[at:].lstrip("*"))
    ends = text[end : end + 1] in ("", "/") or text[end : end + 2] == "\\/"
    return end, end - at > 1 and text[at - 1 : at] in ("", "/") and ends


def _sign(text: str, at: int) -> tuple[str | None, int]:
    """The expression of one sign at `at`, None if it matches nothing; where the next one stands."""
    sign = text[at]
    if sign == "?":
        return "[^/]", at + 1
    if sign == "[":
        return _bracket(text, at + 1)
    if sign == "\\":
        at += 1
        if at == len(text):
            return None, at
    return re.escape(text[at]), at + 1


def _bracket(text: str, at: int) -> tuple[str | None, int]:
    """The expression of the set whose signs begin at `at`, None if it is none; where it ends."""
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    signs: set[str] = set()
    first, before = True, ""
    while first or text[at : at + 1] != "]":
        first = False
        sign = text[at : at + 1]
        if not sign:
            return None, at
        name, is_class = _class_at(text, at) if sign == "[" else ("", False)
        if is_class:
            if name not in _CLASSES:
                return None, at
            signs |= _CLASSES[name]
            at += len(name) + 4
            before = ""
            continue
        is_range = sign == "-" and before and text[at + 1 : at + 2] not in ("", "]")
        at += bool(is_range)
        if text[at] == "\\":
            at += 1
        end = text[at : at + 1]
        if not end:
            return None, at
        signs |= set(map(chr, range(ord(before), ord(end) + 1))) if is_range else {end}
        before = "" if is_range else end
        at += 1
    wanted = (_ALL - signs if negated else signs) - {"/"}
    if not wanted:
        return None, at
    return f"[{''.join(map(re.escape, sorted(wanted)))}]", at + 1


def _class_at(text: str, at: int) -> tuple[str, bool]:
    """The name in `[:name:]`, and whether that stands at `at`."""
    end = text.find("]", at + 2)
    if text[at + 1 : at + 2] != ":" or end < at + 3 or text[end - 1] != ":":
        return "", False
    return text[at + 2 : end - 1], True
