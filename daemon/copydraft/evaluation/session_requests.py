"""The turns of sessions as requests to replay, each with what there was to draft from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from copydraft.errors import BadRequest
from copydraft.evaluation.edit_task import EditTask
from copydraft.evaluation.sessions import Session
from copydraft.evaluation.surroundings import Printer, own_documents
from copydraft.evaluation.traces import Vocabulary
from copydraft.index.search import Search, Shown
from copydraft.index.segment import Segment
from copydraft.protocol import EditFormat
from copydraft.textedits import split_lines
from copydraft.traces import Trace


class Request(NamedTuple):
    """A trace, the task it was made of, and the corpora at that moment, nearest first."""

    trace: Trace
    task: EditTask
    workspace: list[Shown]
    libraries: list[Shown]

    def search(self, *, workspace: bool = True, libraries: bool = True) -> Search:
        """Without the edited document, of which the request shows more than the disk has."""
        near = self.workspace if workspace else []
        return Search([*near, *(self.libraries if libraries else [])]).without(self.task.path)


def requests(
    texts: Mapping[str, str],
    sessions: Sequence[Session],
    vocabulary: Vocabulary,
    edit_format: EditFormat,
    printer: Printer,
    libraries: Sequence[Segment],
) -> Iterator[Request]:
    """All turns that fit into a context, in order."""
    files: Mapping[str, str] = {}
    on_disk = printer.segment("workspace", {})
    for session in sessions:
        if session.files != files:
            files = session.files
            on_disk = printer.segment(
                "workspace", {path: texts[name] for path, name in files.items()}
            )
        own = own_documents(libraries, session.repo)
        shown = [Shown(segment, own) for segment in libraries]
        opened: dict[str, str] = {}
        for task in session.turns:
            try:
                trace = vocabulary.trace(task, edit_format)
            except BadRequest:
                continue
            workspace = [Shown(on_disk, frozenset(opened))]
            if opened:
                workspace.insert(0, Shown(printer.segment("buffer", opened), ()))
            yield Request(trace, task, workspace, shown)
            lines = split_lines(task.file)
            opened[task.path] = "".join([*lines[: task.start], task.after, *lines[task.end :]])
