"""What stands around a replayed request: its workspace and the global corpus, indexed in memory.

As in the daemon, but for the disk: a commit's parent as files, the turns done before as open
documents, libraries behind them. A library that the edited repository is itself would know the
answer: documents with the repository's name in their path are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

import numpy as np
from numpy.typing import NDArray

from copydraft.errors import FileProblem
from copydraft.index.segment import Segment, Source, build
from copydraft.index.tokenizing import BulkTokenizer, Printing
from copydraft.prompts.context import plain
from copydraft.workspace.documents import read_document
from copydraft.workspace.scanner import Scanner

_SEGMENT_TOKENS = 1 << 22
_BATCH = 256
"""Files of a library that are tokenised at once."""
_SUFFIXES = (".py", ".pyi", ".d.ts")


class Printer:
    """Texts as one printing has them, in tokens."""

    def __init__(self, tokenizer: BulkTokenizer, printing: Printing) -> None:
        self._tokenizer = tokenizer
        self._printing = printing
        self._tokens: dict[str, NDArray[np.uint32]] = {}
        self._segments: dict[tuple[str, frozenset[tuple[str, str]]], Segment] = {}

    def segment(self, corpus: str, texts: Mapping[str, str]) -> Segment:
        """One of all texts, by path. It is made once."""
        key = corpus, frozenset(texts.items())
        if key not in self._segments:
            new = [text for text in dict.fromkeys(texts.values()) if text not in self._tokens]
            printed = [self._printing.printed(plain(text)) for text in new]
            self._tokens.update(zip(new, self._tokenizer.encode_many(printed), strict=True))
            field = self._printing.field
            self._segments[key] = build(
                [
                    (Source(corpus, path, field, 0), self._tokens[text])
                    for path, text in texts.items()
                ]
            )
        return self._segments[key]

    def libraries(self, roots: Iterable[Path], most: int) -> list[Segment]:
        """Of the source files below `roots`, until there are `most` tokens; nothing is remembered.

        Paths begin with the name of their root: what stands above it is nothing of theirs.

        Raises:
            FileProblem: a directory cannot be listed.
        """
        segments = []
        waiting: list[tuple[Source, NDArray[np.uint32]]] = []
        size = total = 0
        for batch in _batches(_library_texts(roots), _BATCH):
            printed = [self._printing.printed(text) for _, text in batch]
            tokens = self._tokenizer.encode_many(printed)
            for (path, _), found in zip(batch, tokens, strict=True):
                waiting.append((Source("global", path, self._printing.field, 0), found))
                size += len(found)
            if size >= min(_SEGMENT_TOKENS, most - total):
                segments.append(build(waiting))
                total += size
                waiting, size = [], 0
            if total >= most:
                return segments
        return [*segments, build(waiting)] if waiting else segments


def own_documents(segments: Sequence[Segment], repo: str) -> frozenset[str]:
    """The paths in which the repository's name stands: copies of it among the libraries."""
    name = _plain_name(repo.rpartition("/")[2])
    return frozenset(
        placed.source.path
        for segment in segments
        for placed in segment.documents
        if any(_plain_name(part).startswith(name) for part in PurePath(placed.source.path).parts)
    )


def _plain_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _library_texts(roots: Iterable[Path]) -> Iterator[tuple[str, str]]:
    for root in roots:
        for file in Scanner(root, suffixes=_SUFFIXES, library=True).scan():
            try:
                text = read_document(root / file.path).text
            except FileProblem:
                continue
            yield f"{root.resolve().name}/{file.path}", plain(text)


def _batches(items: Iterable[tuple[str, str]], size: int) -> Iterator[list[tuple[str, str]]]:
    batch = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
