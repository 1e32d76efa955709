"""What a bench measured, and the file that keeps it: each row is written as its run ends."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from copydraft.errors import BadRequest, DiskProblem, FileProblem
from copydraft.protocol import Kind

PLAIN = "plain"
"""The arm that all others are compared with."""


class Step(msgspec.Struct, frozen=True, array_like=True):
    """One pass that wrote tokens; an array in JSON, since a run has hundreds."""

    drafted: int
    accepted: int
    written: int
    pass_us: int
    """From the proposal to the tokens that the pass wrote."""
    draft_us: int
    """Time to propose."""
    corpus: str
    """Where the draft was copied from, "" if there was none."""
    run: int
    """Drafted tokens that were right in a row before this draft."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One arm's run over one task."""

    task: int
    kind: Kind
    arm: str
    repeat: int
    seconds: float
    """From the prompt's last token to the answer's; the rest of the prompt was in memory."""
    tokens: list[int]
    margins: list[float]
    """One per token; none from llama.cpp's server."""
    passes: int
    drafted: dict[str, int]
    """Tokens by corpus, as `accepted`."""
    accepted: dict[str, int]
    steps: list[Step]
    """None of plain decoding, where every pass is of one token, nor of llama.cpp's server."""
    stop_reason: str


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """What and how it was measured: rows of one file can be compared."""

    version: str
    model: str
    tasks: str
    temperature: float
    threads: int
    device: str = ""
    """Known once the model is loaded."""


class Place(NamedTuple):
    """What tells one run from another."""

    task: int
    kind: Kind
    arm: str
    repeat: int


Rows = dict[Place, Measured]


def place_of(row: Measured) -> Place:
    return Place(row.task, row.kind, row.arm, row.repeat)


class Saved:
    """The rows of a file, which begins with a heading."""

    def __init__(self, path: Path, heading: Heading) -> None:
        """Read what is there; a row that was cut off by a crash is measured again.

        Raises:
            FileProblem: the file cannot be read.
            BadRequest: it holds something else, or what was measured under another heading.
        """
        self._path = path
        self.heading = heading
        self.rows: Rows = {}
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            content = b""
        except OSError as error:
            raise FileProblem(
                f"cannot read {path}: {error.strerror}", "name another --out"
            ) from error
        self._kept = content.rfind(b"\n") + 1
        if self._kept:
            self._read(content[: self._kept].splitlines())

    def _read(self, lines: list[bytes]) -> None:
        try:
            found = msgspec.json.decode(lines[0], type=Heading)
            rows = [msgspec.json.decode(line, type=Measured) for line in lines[1:]]
        except msgspec.DecodeError as error:
            raise BadRequest(
                f"{self._path} holds no measurements: {error}", "name another --out"
            ) from error
        if msgspec.structs.replace(found, device="") != self.heading:
            was, wanted = (msgspec.structs.asdict(h) for h in (found, self.heading))
            other = ", ".join(
                f"{key} {was[key]!r}"
                for key in wanted
                if key != "device" and was[key] != wanted[key]
            )
            raise BadRequest(f"{self._path} holds measurements with {other}", "name another --out")
        self.heading = found
        self.rows = {place_of(row): row for row in rows}

    def begin(self, device: str) -> None:
        """Rows will be added: write the heading if the file is new, drop what a crash left.

        Raises:
            DiskProblem: the file cannot be written.
        """
        try:
            if self._kept:
                with self._path.open("r+b") as file:
                    file.truncate(self._kept)
                return
        except OSError as error:
            raise self._fault(error) from error
        self.heading = msgspec.structs.replace(self.heading, device=device)
        self._append(self.heading, mode="wb")

    def add(self, row: Measured) -> None:
        """Keep a row, at once.

        Raises:
            DiskProblem: the file cannot be written.
        """
        self._append(row, mode="ab")
        self.rows[place_of(row)] = row

    def _append(self, record: Heading | Measured, mode: str) -> None:
        try:
            with self._path.open(mode) as file:
                file.write(msgspec.json.encode(record) + b"\n")
        except OSError as error:
            raise self._fault(error) from error

    def _fault(self, error: OSError) -> DiskProblem:
        return DiskProblem(f"cannot write {self._path}: {error.strerror}", "name another --out")


def missing(places: Iterable[Place], rows: Rows) -> list[Place]:
    """The places that are still to be measured, in their order."""
    return [place for place in places if place not in rows]
