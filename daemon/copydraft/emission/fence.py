"""The region rewritten in one fenced code block, longer than any run of backticks inside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from copydraft.emission.format import Part, Printed, cut_off
from copydraft.errors import AnswerRefused

if TYPE_CHECKING:
    from copydraft.protocol import EditFormat

_LANGUAGES = {
    ".bash": "bash",
    ".c": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cs": "csharp",
    ".css": "css",
    ".cxx": "cpp",
    ".dart": "dart",
    ".ex": "elixir",
    ".exs": "elixir",
    ".go": "go",
    ".h": "c",
    ".hpp": "cpp",
    ".hs": "haskell",
    ".html": "html",
    ".java": "java",
    ".js": "javascript",
    ".json": "json",
    ".jsx": "jsx",
    ".kt": "kotlin",
    ".lua": "lua",
    ".markdown": "markdown",
    ".md": "markdown",
    ".mdx": "markdown",
    ".php": "php",
    ".pl": "perl",
    ".py": "python",
    ".pyi": "python",
    ".qmd": "markdown",
    ".r": "r",
    ".rb": "ruby",
    ".rs": "rust",
    ".scala": "scala",
    ".scss": "scss",
    ".sh": "bash",
    ".sql": "sql",
    ".svelte": "svelte",
    ".swift": "swift",
    ".toml": "toml",
    ".ts": "typescript",
    ".tsx": "tsx",
    ".vue": "vue",
    ".xml": "xml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".zig": "zig",
}

_FENCE_LINE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})[ \t]*(.*?)\s*$")


def language(path: str) -> str:
    """The name of a file's language as fences spell it, "" if it has none."""
    return _LANGUAGES.get(PurePath(path).suffix.lower(), "")


def fence_around(path: str, *texts: str) -> str:
    """Backticks that can hold `texts`, which belong to the file at `path`.

    In Markdown there are always four, since an edit may bring the first inner block.
    """
    longest = max((len(run) for text in texts for run in re.findall("`+", text)), default=0)
    return "`" * max(4 if language(path) == "markdown" else 3, longest + 1)


def whole_lines(text: str) -> str:
    """The text, its last line ended as all others are."""
    return text if not text or text.endswith("\n") else text + "\n"


def fenced(text: str, fence: str, info: str) -> str:
    """A block around whole lines; a last line without its end gets one."""
    return f"{fence}{info}\n{whole_lines(text)}{fence}"


class Body(NamedTuple):
    """What stands between the fences: `answer[start:end]`, whole lines."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class FenceFormat:
    """`fence` is the line of backticks asked for, `info` the language behind the opening one."""

    fence: str
    info: str
    name: EditFormat = "fence"
    rewrites: bool = True

    @classmethod
    def for_document(cls, path: str, *texts: str) -> FenceFormat:
        """The fence for any region of a document: the same for all, so that prompts begin alike."""
        return cls(fence_around(path, *texts), language(path))

    @property
    def opening(self) -> str:
        """What every answer begins with; a newline behind letters is left to the model.

        A blank first line of the region would otherwise be other tokens than in the region.
        Behind signs, vocabularies have tokens that end in a newline.
        """
        return self.fence + (self.info or "\n")

    def emit(self, old: str, new: str) -> str:  # noqa: ARG002  # the protocol's
        return fenced(new, self.fence, self.info)

    def printed(self, path: str, text: str) -> list[Printed]:  # noqa: ARG002  # the protocol's
        return [Printed("text", self.fence + self.info, f"\n{whole_lines(text)}{self.fence}")]

    def reader(self) -> FenceReader:
        return FenceReader(len(self.fence))

    def parse(self, answer: str, region: str, *, ended: bool) -> list[Part]:  # noqa: ARG002
        return [Part(*self.body(answer, ended=ended))]

    def body(self, answer: str, *, ended: bool) -> Body:
        """The first block of the answer, prose and thinking around it dropped.

        The first, since decoding stops when it is closed: what a model adds below is an example
        of use or its comment, and streaming would never show it.

        Raises:
            AnswerRefused: there is no block, or its end is missing.
        """
        reader = self.reader()
        reader.feed(answer)
        reader.end()
        start, end = reader.body_start, reader.body_end
        if start is None:
            raise AnswerRefused(
                "the model answered without a code block",
                "try again with a clearer instruction or a larger model",
            )
        if end is None:
            end = _glued_fence(answer, start, reader.fence)
        if end is None and ended:
            end = _other_fence(answer, start, reader.fence)
        if end is None or not (ended or reader.finished):
            raise cut_off()
        return Body(answer[start:end], start, end)


class FenceReader:
    """Finds the block line by line, at a constant cost for each character."""

    def __init__(self, asked: int) -> None:
        self.body_start: int | None = None
        self.body_end: int | None = None
        """Where the closing fence stands; moves on while `finished` is not reached."""
        self.finished = False
        self.fence = ""
        self._asked = asked
        self._line = ""
        self._line_start = 0
        self._thinking = False
        self._indent = 0
        self._depth = 0

    def feed(self, delta: str) -> bool:
        *whole, rest = (self._line + delta).split("\n")
        for line in whole:
            self._take(line, self._line_start + len(line) + 1)
        self._line = rest
        return self.finished

    def end(self) -> None:
        """Take the last line, which no newline ended."""
        self._take(self._line, self._line_start + len(self._line))
        self._line = ""

    def _take(self, line: str, next_start: int) -> None:
        if self.body_start is None:
            self._take_prose(line, next_start)
        elif not self.finished:
            self._take_body(line)
        self._line_start = next_start

    def _take_prose(self, line: str, next_start: int) -> None:
        if self._thinking or line.lstrip().startswith("<think>"):
            _, end, line = line.partition("</think>")
            self._thinking = not end
        if not self._thinking and (match := _FENCE_LINE.match(line)):
            self.fence, self._indent = match[1], match.start(1)
            self.body_start = next_start

    def _take_body(self, line: str) -> None:
        match = _FENCE_LINE.match(line)
        if match is None or not match[1].startswith(self.fence):
            return
        if match.start(1) > self._indent:
            return  # of a block in the text itself: in a docstring, a list
        if match[2]:
            # Only an opening fence names a language: what follows is a block in the text itself.
            self._depth += 1
        elif self._depth:
            self._depth -= 1
        else:
            self.body_end = self._line_start
            # A model that opened with fewer backticks than asked for may mean an inner fence:
            # then the last such line of the answer counts.
            self.finished = self.fence.startswith("`" * self._asked)


def _glued_fence(answer: str, start: int, fence: str) -> int | None:
    """Where the last closing fence stands that the model put behind code, on the same line."""
    glued = re.compile(rf"(?<=[^\s`~])[ \t]*({re.escape(fence)})[ \t]*$", re.MULTILINE)
    return max((match.start(1) for match in glued.finditer(answer, start)), default=None)


def _other_fence(answer: str, start: int, fence: str) -> int:
    """Where a block ends that the model closed with fewer backticks, or further right, if it did.

    Inner blocks show that such a fence does not close one of theirs. A shorter one than the
    opening `fence` must be the last line. Without it the block ends with the answer.
    """
    at, inner, inner_start, bare = start, "", start, False
    for line in answer[start:].split("\n"):
        if match := _FENCE_LINE.match(line):
            if not inner:
                inner, inner_start, bare = match[1], at, not match[2]
            elif not match[2] and match[1].startswith(inner):
                inner = ""
        at += len(line) + 1
    last = answer[inner_start:].strip() == inner
    return inner_start if inner and (last or (bare and inner.startswith(fence))) else len(answer)
