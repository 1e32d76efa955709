"""What a request looks like in a terminal: progress on stderr, diffs and answers on stdout."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from copydraft.printable import printable
from copydraft.protocol import (
    Delta,
    Event,
    Loading,
    Notice,
    Prefill,
    Queued,
    RequestStats,
    Span,
)

_TAIL_LINES = 6
_REFRESH_PER_SECOND = 8
_PIPE_WIDTH = 200
"""Tables in a pipe are cut to no terminal's width."""


def stdout() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    return console


def stderr() -> Console:
    return Console(stderr=True, highlight=False)


def redraws(console: Console) -> bool:
    """Whether it is a terminal that can draw a line anew; Emacs's shell is one that cannot."""
    return console.is_terminal and not console.is_dumb_terminal


def say(console: Console, line: str) -> None:
    """One line: brackets in it are no markup, control characters are shown."""
    console.print(printable(line), markup=False, soft_wrap=True)


# --- progress -------------------------------------------------------------------------------


class Progress(Protocol):
    """Shows the events of one request while the context is open."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def show(self, event: Event) -> None: ...


def progress(console: Console) -> Progress:
    """Live progress on a terminal, a few plain lines anywhere else."""
    return LiveProgress(console) if redraws(console) else PlainProgress(console)


class PlainProgress:
    """One line for each stage of a request: for pipes, logs and CI."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stage: type[Event] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def show(self, event: Event) -> None:
        if isinstance(event, Notice) or type(event) is not self._stage:
            if line := describe(event):
                say(self._console, line)
            self._stage = type(event)


class LiveProgress:
    """A line that changes in place, and below it the last lines of the answer."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stage: type[Event] | None = None
        self._spinner = Spinner("dots", Text("asking the daemon"))
        self._writing = Writing()
        self._live = Live(
            console=console,
            transient=True,
            refresh_per_second=_REFRESH_PER_SECOND,
            get_renderable=lambda: Group(self._spinner, self._writing.tail),
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, event: Event) -> None:
        match event:
            case Notice():
                self._console.print(printable(event.message), style="yellow", markup=False)
            case Delta():
                self._writing.add(event)
                self._spinner.update(text=Text(self._writing.line()))
            case _:
                if line := describe(event):
                    self._spinner.update(text=Text(printable(line)))
        if type(event) is not self._stage:
            self._stage = type(event)
            self._live.refresh()


class Writing:
    """What has been written so far: how fast, how much of it copied, and how it ends."""

    def __init__(self) -> None:
        self.tail = Text(no_wrap=True, overflow="ellipsis")
        self._started = 0.0
        self._tokens = 0
        self._characters = 0
        self._copied = 0

    def add(self, delta: Delta) -> None:
        if not self._tokens:
            self._started = time.monotonic()
        self._tokens = delta.tokens
        self._characters += len(delta.text)
        for span in delta.spans:
            self._copied += (span.end - span.start) if span.corpus else 0
            piece = printable(delta.text[span.start : span.end])
            self.tail.append(piece, style=_origin(span))
        self.tail = _last_lines(self.tail)

    def line(self) -> str:
        seconds = time.monotonic() - self._started
        rate = f", {self._tokens / seconds:.1f} tokens/s" if seconds > 0.5 else ""
        copied = self._copied / max(1, self._characters)
        return f"writing: {self._tokens:,} tokens{rate}, {copied:.0%} copied"


def _last_lines(text: Text) -> Text:
    lines = text.split("\n", allow_blank=True)[-_TAIL_LINES:]
    kept = Text("\n").join(lines)
    kept.no_wrap, kept.overflow = True, "ellipsis"
    return kept


def describe(event: Event) -> str:
    """The stage that `event` stands for, in words; empty for those that need none."""
    match event:
        case Queued():
            return f"queued: {event.ahead} request{'s' if event.ahead != 1 else ''} ahead"
        case Loading():
            return f"loading {event.model}: {event.share:.0%}"
        case Prefill():
            kept = f", {event.reused:,} kept from before" if event.reused else ""
            return f"reading the prompt: {event.done:,} of {event.total:,} tokens{kept}"
        case Notice():
            return event.message
        case _:
            return ""


# --- results --------------------------------------------------------------------------------


def print_diff(diff: str, console: Console) -> None:
    """A unified diff in colours on a terminal, byte for byte anywhere else."""
    if not console.is_terminal:
        console.file.write(diff)
        console.file.flush()
        return
    for line in diff.split("\n")[:-1]:
        console.print(Text(printable(line), style=_diff_style(line)), soft_wrap=True)


def _diff_style(line: str) -> str:
    if line.startswith(("---", "+++")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def print_copied(text: str, spans: Sequence[Span], console: Console) -> None:
    """A text, what was copied dim on a terminal, as while it was written."""
    if console.is_terminal:
        shown = Text()
        for span in spans:
            shown.append(printable(text[span.start : span.end]), style=_origin(span))
        console.print(shown, soft_wrap=True)
    else:
        console.file.write(text + "\n" * (not text.endswith("\n")))


def _origin(span: Span) -> str:
    return "dim" if span.corpus else "bold"


def summary(stats: RequestStats) -> str:
    """A finished request in one line."""
    copied = stats.copied_tokens / max(1, stats.output_tokens)
    return (
        f"{stats.output_tokens:,} tokens in {stats.decode_ms / 1000:.1f} s: "
        f"{stats.tokens_per_s:.1f} tokens/s, {copied:.0%} copied, {stats.passes:,} passes; "
        f"prompt read in {stats.first_token_ms / 1000:.1f} s; {stats.device}"
    )


class MarkdownStream:
    """Markdown rendered while it arrives: finished blocks stay, the last one is redrawn."""

    def __init__(self, console: Console) -> None:
        # Its parser is slow to import, and most commands print no Markdown.
        from rich.markdown import Markdown  # noqa: PLC0415

        self._console = console
        self._unfinished = ""
        self._rendered = Markdown
        self._live = Live(
            console=console,
            refresh_per_second=_REFRESH_PER_SECOND,
            get_renderable=lambda: Markdown(self._unfinished),
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def write(self, text: str) -> None:
        finished, self._unfinished = split_blocks(self._unfinished + printable(text))
        if finished:
            self._console.print(self._rendered(finished), "")


class PlainStream:
    """Text written out as it comes; byte for byte where that is no terminal."""

    def __init__(self, console: Console) -> None:
        self._file = console.file
        self._shown = printable if console.is_terminal else str
        self._last = "\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._last != "\n":
            self.write("\n")

    def write(self, text: str) -> None:
        self._file.write(self._shown(text))
        self._file.flush()
        self._last = text[-1:] or self._last


AnswerStream = MarkdownStream | PlainStream


def answer_stream(console: Console) -> AnswerStream:
    return MarkdownStream(console) if redraws(console) else PlainStream(console)


_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")


def split_blocks(text: str) -> tuple[str, str]:
    """`text` cut after its last blank line that is outside every code fence."""
    cut = position = 0
    fence = ""
    for line in text.splitlines(keepends=True):
        position += len(line)
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and not found[2].strip():
            fence = ""
        elif not fence and not line.strip() and line.endswith("\n"):
            cut = position
    return text[:cut], text[cut:]
