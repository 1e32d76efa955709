"""Traces: what a drafter may know of a request, and what was then written.

A file, plain or gzipped, holds one JSON object a line: traces recorded from a model, or edit tasks
as `mine` finds them in a repository. A task becomes a trace whose output is the committed text in
the product's own answer format, read by a model's tokenizer; no weights are loaded.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import msgspec

from copydraft.defaults import CARD_CONTEXT, CARD_FILE_CONTEXT
from copydraft.emission.calls import HERMES
from copydraft.engine.llama import Model
from copydraft.errors import BadRequest, FileProblem
from copydraft.evaluation.agent_turns import EDIT, calls_of, turn_of
from copydraft.evaluation.edit_task import EditTask
from copydraft.models.gguf import read_metadata
from copydraft.prompts import chat, edit
from copydraft.prompts.context import plain
from copydraft.prompts.tools import call_shape
from copydraft.protocol import EditFormat, EditRequest, Generation, Region
from copydraft.serving.loading import template_of
from copydraft.traces import Source, Trace


class Vocabulary:
    """Turns edit tasks into traces with the tokenizer and the chat template of a GGUF."""

    def __init__(self, gguf: Path) -> None:
        """Read the file's vocabulary.

        Raises:
            ModelProblem: the file is missing, damaged or not a model that writes text.
        """
        metadata = read_metadata(gguf)
        self._tokenizer = Model(gguf, vocab_only=True)
        self._template = template_of(metadata, self._tokenizer)
        self._shape = call_shape(self._template, self._tokenizer.special_texts)
        self._end = self._tokenizer.encode(self._tokenizer.eos_text, special=True)

    @property
    def escapes_calls(self) -> bool:
        """Whether the model writes the arguments of tool calls as JSON, not as they are."""
        return (self._shape or HERMES).escapes

    def trace(self, task: EditTask, edit_format: EditFormat = "fence") -> Trace:
        """The request that the daemon would make of the task, answered with the committed text.

        Raises:
            BadRequest: the region is not in the file, does not fit into a context, or goes whole.
        """
        if not task.after:
            raise BadRequest("an edit that deletes its region has no answer to replay")
        region = Region(path=task.path, text=task.file, start=task.start, end=task.end)
        asked = edit.prepare(
            EditRequest(
                region=region,
                instruction=task.instruction,
                prediction=task.after,
                format=edit_format,
            ),
            self._tokenizer,
            self._template,
            # As on a card: almost every file is shown whole.
            context=CARD_CONTEXT,
            file_context=CARD_FILE_CONTEXT,
        )
        # A prediction is given in the tokens that the model would print: here, the answer.
        answer, *documents = asked.documents
        return Trace(
            kind="edit",
            prompt=asked.prompt,
            output=[*answer.tokens, *self._end],
            documents=[Source(d.corpus, d.path, d.field, list(d.tokens)) for d in documents],
            repo=task.repo,
            name=f"{task.repo} {task.commit} {task.path}",
        )

    def turn(self, task: EditTask) -> Trace:
        """The task as a coding agent's turn, answered with the calls that make the edit.

        Raises:
            BadRequest: what the agent read does not fit into a context.
        """
        asked = chat.prepare(
            turn_of(task, Generation()),
            self._tokenizer,
            self._template,
            self._shape,
            context=CARD_CONTEXT,
            printed={},
        )
        calls = (asked.shape.printed(EDIT.name, arguments) for arguments in calls_of(task))
        *documents, _ = asked.documents
        return Trace(
            kind="chat",
            prompt=asked.prompt,
            output=[*self._tokenizer.encode("\n".join(calls), special=True), *self._end],
            documents=[Source(d.corpus, d.path, d.field, list(d.tokens)) for d in documents],
            quotations=asked.quotations,
            repo=task.repo,
            name=f"{task.repo} {task.commit} {task.path}",
        )

    def raw(self, trace: Trace, task: EditTask) -> Trace:
        """The same, with the region as it stands in the file: not as its format prints it."""
        tokens = self._tokenizer.encode(plain(task.before))
        documents = [
            msgspec.structs.replace(source, tokens=tokens) if source.corpus == "region" else source
            for source in trace.documents
        ]
        return msgspec.structs.replace(trace, documents=documents)


def read(path: Path, gguf: Path | None, *, agent: bool = False) -> list[Trace]:
    """The traces of a file; its edit tasks are read with the vocabulary of `gguf`.

    `agent`: tasks as a coding agent's turns.

    Raises:
        FileProblem: the file cannot be read.
        BadRequest: it is empty, a line is neither trace nor task, or there are tasks but no `gguf`.
        ModelProblem: as for `Vocabulary`.
    """
    records = list(_records(path))
    if not records:
        raise BadRequest(f"{path} is empty", "give a file of traces or of edit tasks")
    recorded = [record for record in records if isinstance(record, Trace)]
    if len(recorded) == len(records):
        return recorded
    if gguf is None:
        raise BadRequest(
            f"{path} holds edit tasks, which need a tokenizer", "name a model file with --gguf"
        )
    vocabulary = Vocabulary(gguf)
    read_task = vocabulary.turn if agent else vocabulary.trace
    return [record if isinstance(record, Trace) else read_task(record) for record in records]


def read_tasks(path: Path) -> list[EditTask]:
    """The edit tasks of a file.

    Raises:
        FileProblem: it cannot be read.
        BadRequest: a line is neither a trace nor an edit task, or there is no task.
    """
    tasks = [record for record in _records(path) if isinstance(record, EditTask)]
    if not tasks:
        raise BadRequest(f"{path} holds no edit tasks", "scripts/mine_edits writes them")
    return tasks


def spread(tasks: Sequence[EditTask], limit: int) -> list[EditTask]:
    """At most `limit` tasks, taken from the repositories in turn."""
    by_repo: dict[str, list[EditTask]] = {}
    for task in tasks:
        by_repo.setdefault(task.repo, []).append(task)
    rounds = zip_longest(*by_repo.values())
    return [task for turn in rounds for task in turn if task is not None][:limit]


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, plain or gzipped, that are not blank, and their numbers from 1.

    Raises:
        FileProblem: the file cannot be read.
    """
    try:
        data = path.read_bytes()
        lines = (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileProblem(f"cannot read {path}: {reason}", "give a .jsonl file") from error
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _records(path: Path) -> Iterator[Trace | EditTask]:
    for number, line in lines_of(path):
        try:
            record = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
            if "after" in record:
                yield msgspec.json.decode(line, type=EditTask)
            else:
                yield msgspec.json.decode(line, type=Trace)
        except msgspec.DecodeError as error:
            raise BadRequest(
                f"{path}, line {number} is neither a trace nor an edit task: {error}",
                "scripts/mine_edits writes edit tasks",
            ) from error
