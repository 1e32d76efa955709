"""One request from the terminal: read the file, stream the answer, show it, write it."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar

import click
import msgspec
from rich.console import Console

from copydraft import terminal
from copydraft.client import Client
from copydraft.errors import BadRequest, Cancelled, CopydraftError
from copydraft.protocol import (
    CompleteRequest,
    CompleteResult,
    Delta,
    EditFormat,
    EditRequest,
    EditResult,
    Event,
    ExplainRequest,
    ExplainResult,
    Generation,
    Notice,
    Region,
)
from copydraft.textedits import line_end, split_lines
from copydraft.workspace import documents

R = TypeVar("R", EditResult, ExplainResult, CompleteResult)
Show = Callable[[Event], None]
Call = Callable[[Client], AsyncGenerator[Event]]


class Lines(NamedTuple):
    """Lines as people count them: from 1, both ends included; None is the file's own end."""

    first: int | None = None
    last: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """`A:B`, `A`, `A:` or `:B`.

        Raises:
            BadRequest: it is none of these.
        """
        if found := re.fullmatch(r"(\d*):(\d*)|(\d+)", text):
            first, last, only = (int(part) if part else None for part in found.groups())
            lines = cls(first, last) if only is None else cls(only, only)
            if 0 not in lines and (lines.first or 1) <= (lines.last or math.inf):
                return lines
        raise BadRequest(
            f"these are not lines: {text!r}",
            "give the first and the last, counted from 1, as in --lines 10:40",
        )

    def within(self, text: str) -> tuple[int, int]:
        """The lines of `text` from 0, end exclusive.

        Raises:
            BadRequest: the text has no such lines.
        """
        start = (self.first or 1) - 1
        end = self.last or max(start + 1, len(split_lines(text)))
        documents.region_lines(text, start, end)
        return start, end


def offset_of(place: str, text: str) -> int:
    """Where in `text` a place is, LINE:COLUMN, both counted from 1; a line's end is a place too.

    Raises:
        BadRequest: it is written otherwise, or the text has no such place.
    """
    found = re.fullmatch(r"([1-9]\d*):([1-9]\d*)", place)
    if found is None:
        raise BadRequest(
            f"this is no place: {place!r}", "give line and column, counted from 1: --at 10:5"
        )
    line, column = int(found[1]), int(found[2])
    lines = split_lines(text)
    count = f"{len(lines)} line" + "s" * (len(lines) != 1)
    if not lines or line_end(lines[-1]):
        # Behind the last line's end, too, one can write.
        lines.append("")
    if line > len(lines):
        raise BadRequest(f"there is no line {line}", f"the file has {count}")
    length = len(lines[line - 1]) - len(line_end(lines[line - 1]))
    if column > length + 1:
        raise BadRequest(f"line {line} has no column {column}", f"its end is column {length + 1}")
    return sum(map(len, lines[: line - 1])) + column - 1


class Target(NamedTuple):
    """Lines of a file that a request is about."""

    document: documents.DocumentFile
    region: Region

    @classmethod
    def read(cls, file: Path, lines: str) -> Self:
        """Read the file and find the lines, `lines` as in `Lines.parse`.

        Raises:
            FileProblem: it is not a text file that can be read.
            BadRequest: it has no such lines.
        """
        document = documents.read_document(file)
        start, end = Lines.parse(lines).within(document.text)
        return cls(document, Region(path=str(file), text=document.text, start=start, end=end))

    def generation(self, generation: Generation) -> Generation:
        """The request's, in the repository of the file."""
        return in_repository(generation, self.document.path)

    def write(self, replacement: str) -> None:
        """Put `replacement` in the place of the lines, in the file."""
        lines = split_lines(self.region.text)
        lines[self.region.start : self.region.end] = [replacement]
        documents.write_document(self.document, "".join(lines))


def in_repository(generation: Generation, file: Path) -> Generation:
    """The same, in the repository of a file."""
    root = documents.repository_of(file)
    return msgspec.structs.replace(generation, workspace=str(root or ""))


def edit(
    target: Target,
    instruction: str,
    generation: Generation,
    *,
    edit_format: EditFormat | Literal[""] = "",
    write: bool,
    as_json: bool,
) -> None:
    """The edit's diff (or JSON) on stdout, progress and a summary on stderr.

    Raises:
        CopydraftError: whatever went wrong; the file is then as it was.
    """
    console = terminal.stderr()
    request = EditRequest(
        region=target.region,
        instruction=instruction,
        format=edit_format,
        generation=target.generation(generation),
    )
    with terminal.progress(console) as progress:
        result = run(lambda client: client.edit(request), EditResult, progress.show)
    write = write and bool(result.diff)
    try:
        if write:
            target.write(result.text)
    except CopydraftError as fault:
        fault.answer = {"text": result.text, "diff": result.diff}
        raise
    finally:
        if not as_json:
            terminal.print_diff(result.diff, terminal.stdout())
    if as_json:
        _print_json(text=result.text, diff=result.diff, stats=result.stats, spans=result.spans)
    if not result.diff:
        terminal.say(console, "no change: the model left the lines as they are")
    terminal.say(console, terminal.summary(result.stats))
    if write:
        terminal.say(console, f"wrote {target.document.path}")


def explain(target: Target, question: str, generation: Generation, *, as_json: bool) -> None:
    """The explanation as Markdown (or JSON) on stdout, progress and a summary on stderr.

    Raises:
        CopydraftError: whatever went wrong.
    """
    console = terminal.stderr()
    request = ExplainRequest(
        region=target.region, question=question, generation=target.generation(generation)
    )

    def call(client: Client) -> AsyncGenerator[Event]:
        return client.explain(request)

    if as_json:
        with terminal.progress(console) as progress:
            result = run(call, ExplainResult, progress.show)
        _print_json(text=result.text, diff="", stats=result.stats, spans=result.spans)
    else:
        with AnswerView(console, terminal.stdout()) as view:
            result = run(call, ExplainResult, view.show)
    terminal.say(console, terminal.summary(result.stats))


def complete(file: Path, place: str, generation: Generation, *, as_json: bool) -> None:
    """The text to put in (or JSON) on stdout, progress and a summary on stderr.

    Raises:
        CopydraftError: whatever went wrong.
    """
    console = terminal.stderr()
    document = documents.read_document(file)
    root = documents.repository_of(document.path)
    request = CompleteRequest(
        # As the repository's index names it: what stands there is not to be drafted from.
        path=document.path.relative_to(root).as_posix() if root else str(file),
        text=document.text,
        offset=offset_of(place, document.text),
        generation=in_repository(generation, document.path),
    )
    with terminal.progress(console) as progress:
        result = run(lambda client: client.complete(request), CompleteResult, progress.show)
    if as_json:
        _print_json(text=result.text, stats=result.stats, spans=result.spans)
    elif result.text:
        terminal.print_copied(result.text, result.spans, terminal.stdout())
    else:
        terminal.say(console, "the model has nothing to add there")
    terminal.say(console, terminal.summary(result.stats))


class AnswerView:
    """Progress, and the answer as it is written; on one terminal, one after the other."""

    def __init__(self, progress: Console, answer: Console) -> None:
        self._answer = answer
        self._progress = terminal.progress(progress)
        self._stream: terminal.AnswerStream | None = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.enter_context(self._progress)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def show(self, event: Event) -> None:
        if not isinstance(event, Delta) or not event.text:
            self._progress.show(event)
            return
        if self._stream is None:
            if self._answer.is_terminal:
                # Two live displays on one terminal would overwrite each other.
                self._open.close()
            self._stream = terminal.answer_stream(self._answer)
            self._open.enter_context(self._stream)
        if not self._answer.is_terminal:
            self._progress.show(event)
        self._stream.write(event.text)


def _print_json(**fields: Any) -> None:
    click.echo(msgspec.json.encode(fields))


def run(call: Call, kind: type[R], show: Show) -> R:
    """The result of one request to the daemon, started if need be; `show` gets all its events.

    Raises:
        CopydraftError: the request failed; Cancelled on Ctrl-C.
    """
    try:
        return asyncio.run(stream(call, kind, show))
    except KeyboardInterrupt:
        raise Cancelled("cancelled; no file was changed") from None


async def stream(call: Call, kind: type[R], show: Show) -> R:
    """As `run`, in a loop that runs already."""

    def notice(message: str) -> None:
        show(Notice(message=message))

    async with (
        await Client.connect(notice=notice) as client,
        # Closing the stream is what tells the daemon that nobody waits any more.
        aclosing(call(client)) as events,
    ):
        async for event in events:
            show(event)
            if isinstance(event, kind):
                return event
    raise AssertionError("the client's stream ends with a result, or raises")
