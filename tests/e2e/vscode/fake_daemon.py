"""The daemon of the extension's tests: the fake service, and edits that arrive line by line.

| instruction      | what happens                                                       |
| ---------------- | ------------------------------------------------------------------ |
| `slow MS\nTEXT`  | the lines of TEXT, one Delta each, MS milliseconds apart           |
| `gate FILE\nTEXT`| the same; the last line waits until FILE exists                    |
| `Fix …`          | `fixed = True` instead of the lines                                |
| `lack`           | Failed, as where the model is not downloaded                       |
| `lines FILE`     | which lines it is about, from 1 on; as `lack` before FILE exists   |
| `where`          | the workspace that it is sent for, and the document's name there   |
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from copydraft import config
from copydraft.api import process
from copydraft.errors import CopydraftError, ModelProblem
from copydraft.protocol import (
    Delta,
    EditRequest,
    EditResult,
    ExplainRequest,
    ExplainResult,
    Failed,
    Span,
)
from copydraft.serving.service import Emit
from tests.fixtures.fake_service import FakeService, FakeTicket, Request, stats

PAUSE_S = 0.02


class SlowService(FakeService):
    """As the fake service; slow requests have threads of their own."""

    def submit(self, request: Request, emit: Emit) -> FakeTicket:
        verb, rest = _wish(request)
        if verb == "Fix":
            verb, rest = "slow", "0\nfixed = True\n"
        if verb not in ("slow", "gate", "lack", "lines", "where"):
            return super().submit(request, emit)
        ticket = FakeTicket(request, emit)
        threading.Thread(target=_write, args=(ticket, verb, rest), daemon=True).start()
        return ticket


def _wish(request: Request) -> tuple[str, str]:
    said = ""
    if isinstance(request, EditRequest):
        said = request.instruction
    elif isinstance(request, ExplainRequest):
        said = request.question
    verb, _, rest = said.partition(" ")
    return verb, rest


def _write(ticket: FakeTicket, verb: str, rest: str) -> None:
    if verb == "lines" and Path(rest).exists():
        region = ticket.request.region
        verb, rest = "slow", f"0\nlines {region.start + 1} to {region.end}\n"
    if verb == "where":
        asked = ticket.request
        verb, rest = "slow", f"0\n{asked.generation.workspace} {asked.region.path}\n"
    if verb in ("lack", "lines"):
        ticket.emit(Failed.of(ModelProblem("m is not downloaded", "run `copydraft model pull m`")))
        return
    limit, _, text = rest.partition("\n")
    lines = text.splitlines(keepends=True)
    for count, line in enumerate(lines, 1):
        # Not all at once: the server sends what comes within milliseconds together.
        ticket.wake.wait(int(limit) / 1000 if verb == "slow" else 5 * PAUSE_S)
        if verb == "gate" and count == len(lines):
            while not Path(limit).exists() and not ticket.ended:
                time.sleep(PAUSE_S)
        if ticket.ended:
            ticket.emit(Failed.of(ticket.ended))
            return
        ticket.emit(Delta(text=line, spans=[Span(start=0, end=len(line))], tokens=count))
    kind = "explain" if isinstance(ticket.request, ExplainRequest) else "edit"
    said = stats(kind=kind)
    if isinstance(ticket.request, ExplainRequest):
        ticket.emit(ExplainResult(text=text, spans=[], stats=said))
    else:
        ticket.emit(EditResult(text=text, diff="", spans=[], stats=said, answer=text))


if __name__ == "__main__":
    try:
        process.run(config.load(), lambda _: SlowService())
    except CopydraftError as error:
        sys.stderr.write(error.message)
        sys.exit(error.exit_status)
