"""Record what a model really answers: the tasks of a file, each as a trace."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from copydraft import traces
from copydraft.config import Config
from copydraft.drafting.drafter import CopyDrafter, Drafter
from copydraft.drafting.policy import Experience, Policy
from copydraft.drafting.profile import profile_of
from copydraft.errors import BadRequest, CopydraftError, EngineProblem, FileProblem
from copydraft.evaluation.agent_turns import turn_of
from copydraft.evaluation.edit_task import EditTask
from copydraft.protocol import EditRequest, Event, ExplainRequest, Generation, Kind, Region
from copydraft.serving.decoding import decode
from copydraft.serving.loading import Loaded
from copydraft.serving.tasks import Question, Task, task_of

KINDS: tuple[Kind, ...] = ("edit", "explain", "chat")
"""What a task can be asked as."""


class Silent:
    """A client that wants nothing but the outcome."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def emit(self, event: Event) -> None:
        pass


def request_of(task: EditTask, kind: Kind, generation: Generation) -> Question:
    """The task as an edit, an explanation of its region, or an agent's turn."""
    if kind == "chat":
        return turn_of(task, generation)
    region = Region(path=task.path, text=task.file, start=task.start, end=task.end)
    if kind == "explain":
        return ExplainRequest(region=region, generation=generation)
    return EditRequest(region=region, instruction=task.instruction, generation=generation)


def record(
    loaded: Loaded,
    config: Config,
    tasks: Sequence[EditTask],
    kind: Kind,
    out: Path,
    tell: Callable[[int, str], object],
) -> None:
    """Append a trace of each task to `out`; those that have one are left out.

    `tell` gets how many tasks are done, and what became of the last.

    Raises:
        DiskProblem: `out` cannot be written.
        FileProblem: it cannot be read.
        BadRequest: it holds something else than traces.
        EngineProblem: llama.cpp failed; what was recorded before is kept.
    """
    config = msgspec.structs.replace(config, record=True)
    experiences: list[Experience] = []

    def drafter(task: Task, costs: list[float]) -> Drafter:
        if not experiences:
            experiences.append(Experience(profile_of(kind, {}), costs))
        return CopyDrafter(task.documents, Policy(experiences[0]), quotations=task.quotations)

    done = _recorded(out)
    for number, task in enumerate(tasks, start=1):
        name = f"{task.repo} {task.commit} {kind}"
        if name in done:
            continue
        generation = Generation()
        try:
            asked = task_of(request_of(task, kind, generation), loaded)
            outcome = decode(generation, kind, asked, loaded, config, Silent(), drafter)
        except EngineProblem:
            raise  # the engine's memory is not to be trusted any more
        except CopydraftError as error:
            tell(number, error.message)
            continue
        trace = traces.record(
            kind,
            asked.prompt,
            asked.documents,
            asked.quotations,
            outcome.tokens,
            outcome.top8,
            repo=task.repo,
            name=name,
        )
        traces.append(out, trace)
        tell(number, f"{len(outcome.tokens)} tokens in {outcome.stats.passes} passes")


def _recorded(out: Path) -> set[str]:
    """Names of the traces in a file that may not be there; a line that was cut off is none.

    Raises:
        FileProblem: it cannot be read.
        BadRequest: it holds something else.
    """
    try:
        whole, _, _ = out.read_bytes().rpartition(b"\n")
        return {msgspec.json.decode(line, type=traces.Trace).name for line in whole.splitlines()}
    except FileNotFoundError:
        return set()
    except OSError as error:
        raise FileProblem(f"cannot read {out}: {error.strerror}", "name another --out") from error
    except msgspec.DecodeError as error:
        raise BadRequest(f"{out} holds no traces: {error}", "name another --out") from error
