"""One request as its tokens: what a drafter may know of it, and what was then written.

Traces are made of edit tasks (`evaluation.traces`), or recorded from real requests: the setting
`record` and `scripts/record`. A file holds one JSON object a line.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec

from copydraft.errors import DiskProblem
from copydraft.tokens import Document, Quotation

_Tokens = list[Annotated[int, msgspec.Meta(ge=0, lt=2**31)]]


class Source(msgspec.Struct, frozen=True):
    """A `tokens.Document` in JSON."""

    corpus: str
    path: str
    field: str
    tokens: _Tokens

    def document(self) -> Document:
        # The first traces call the region a part of the session.
        corpus = "region" if self.field == "region" else self.corpus
        return Document(corpus, self.path, self.field, self.tokens)


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """One request: token ids of prompt and answer, and further texts to draft from."""

    kind: str
    prompt: Annotated[_Tokens, msgspec.Meta(min_length=1)]
    output: Annotated[_Tokens, msgspec.Meta(min_length=1)]
    """The end token included, where the model wrote one."""
    documents: list[Source] = []
    quotations: list[Quotation] = []
    top8: list[_Tokens] = []
    """The model's likeliest tokens after each token of the output but the last; or none."""
    margins: list[float] = []
    """By how much each token won, where the request asked for that (`Generation.margins`)."""
    repo: str = ""
    """Repository that the task is from, "" if not known."""
    name: str = ""
    """What was recorded, "" if nobody will ask."""

    def sources(self) -> list[Document]:
        """All that a drafter may copy from, as the daemon hands it over: the prompt last."""
        documents = [source.document() for source in self.documents]
        return [*documents, Document("session", "", "prompt", self.prompt)]


def record(
    kind: str,
    prompt: Sequence[int],
    documents: Sequence[Document],
    quotations: Sequence[Quotation],
    output: Sequence[int],
    top8: Sequence[Sequence[int]],
    *,
    margins: Sequence[float] = (),
    repo: str = "",
    name: str = "",
) -> Trace:
    """The trace of a request; `documents` may hold the prompt, `output` must not be empty."""
    return Trace(
        kind=kind,
        prompt=list(prompt),
        output=list(output),
        documents=[
            Source(document.corpus, document.path, document.field, list(document.tokens))
            for document in documents
            if document.field != "prompt"
        ],
        quotations=list(quotations),
        # The last token has nothing after it.
        top8=[list(ids) for ids in top8[1 : len(output)]],
        margins=list(margins),
        repo=repo,
        name=name,
    )


def append(path: Path, trace: Trace) -> None:
    """Add a line to the file at `path`, which is for the user's eyes only.

    A line that a fault cut off, now or earlier, is taken back.

    Raises:
        DiskProblem: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        with path.open("r+b", buffering=0) as out:
            size = _whole_lines(out)
            out.truncate(size)
            out.seek(size)
            try:
                out.write(msgspec.json.encode(trace) + b"\n")
            except OSError:
                out.truncate(size)
                raise
    except OSError as error:
        raise DiskProblem(f"cannot record to {path}: {error}", "free the disk") from error


_BLOCK = 65536


def _whole_lines(file: BinaryIO) -> int:
    """The size of a file without what stands behind its last line end."""
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        if (found := file.read(end - start).rfind(b"\n")) >= 0:
            return start + found + 1
        end = start
    return 0
