"""Whether drafts change answers: edit tasks through a real daemon, with and without drafts.

Every corpus is on: the files of each task's repository lie in a workspace, and the standard library
is the global corpus. Each request runs plainly, outside of the workspace; what it wrote is opened
there as an unsaved document, so that there is much to draft; then it runs drafted, and drafted in
strict mode, now this first and now that, for once it has answered in a workspace, the daemon drafts
from its own answer. Where the tokens part, the margin by which plain decoding chose its token is
shown: a near tie, or a bug.

The prompt is read beforehand: one that is found in the prefix cache was read in passes of other
widths than a fresh one, which by itself can tip a near tie.

Each row is saved as it ends, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from copydraft import paths
from copydraft.client import Client
from copydraft.errors import AnswerRefused, CopydraftError
from copydraft.evaluation.edit_task import EditTask
from copydraft.evaluation.record import request_of
from copydraft.evaluation.traces import read_tasks, spread
from copydraft.index import additions
from copydraft.models import library
from copydraft.protocol import (
    ChatRequest,
    Delta,
    DocumentOpened,
    DocumentUpdates,
    EditRequest,
    ExplainRequest,
    Generation,
    Kind,
    Sampling,
)
from copydraft.traces import Trace

SEED = 7
INDEXING_S = 600.0


class Answer(msgspec.Struct):
    """What one request wrote."""

    prompt: list[int]
    text: str
    tokens: list[int]
    margins: list[float]
    copied: dict[str, int]
    """Characters by corpus."""


class Row(msgspec.Struct):
    """One task in one way, compared with plain decoding."""

    task: str
    way: str
    tokens: int
    fork: int | None
    """Index of the first token that is another."""
    margin: float | None
    """By which plain decoding chose its token there."""
    copied: dict[str, int]
    """Characters by corpus."""


def workspaces(tasks: Sequence[EditTask], root: Path) -> dict[str, Path]:
    """One directory a repository, with the files of all of its tasks."""
    made: dict[str, Path] = {}
    for task in reversed(tasks):
        directory = made.setdefault(task.repo, root / task.repo.replace("/", "-"))
        file = directory / task.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(task.file, "utf-8")
    return made


def opened(name: str, text: str, root: Path) -> DocumentUpdates:
    """A document that is not on the disk."""
    update = DocumentOpened(name=name, version=1, text=text)
    return DocumentUpdates(workspace=str(root), owner=os.getpid(), updates=[update])


async def answer(client: Client, task: EditTask, kind: Kind, generation: Generation) -> Answer:
    match request_of(task, kind, generation):
        case EditRequest() as edit:
            call = client.edit(edit)
        case ExplainRequest() as question:
            call = client.explain(question)
        case ChatRequest() as turn:
            call = client.chat(turn)
        case _:
            raise AssertionError(kind)
    text = ""
    copied: Counter[str] = Counter()
    try:
        async with aclosing(call) as events:
            async for event in events:
                if isinstance(event, Delta):
                    text += event.text
                    for span in event.spans:
                        copied[span.corpus] += span.end - span.start
    except AnswerRefused:
        pass  # no edit, but tokens all the same
    *_, last = paths.traces_file().read_bytes().splitlines()
    trace = msgspec.json.decode(last, type=Trace)
    return Answer(trace.prompt, text, list(trace.output), trace.margins, dict(copied))


def compared(name: str, way: str, plain: Answer, other: Answer) -> Row:
    pairs = zip(plain.tokens, other.tokens, strict=False)
    fork = next((number for number, (a, b) in enumerate(pairs) if a != b), None)
    if fork is None and len(plain.tokens) != len(other.tokens):
        fork = min(len(plain.tokens), len(other.tokens))
    margin = None
    if fork is not None and fork < len(plain.margins):
        margin = plain.margins[fork]
    return Row(name, way, len(plain.tokens), fork, margin, other.copied)


async def indexed(client: Client) -> None:
    """Wait until the daemon has read all workspaces."""
    for _ in range(int(INDEXING_S)):
        if not any(each.indexing for each in (await client.status()).workspaces):
            return
        await asyncio.sleep(1)
    sys.exit("the workspaces are not indexed yet")


async def rows_of(
    client: Client, task: EditTask, kind: Kind, base: Generation, ways: Sequence[str], name: str
) -> list[Row]:
    """The task in each way, compared with what is written plainly."""
    replace = msgspec.structs.replace
    plainly = replace(base, draft=False, workspace="")
    await answer(client, task, kind, replace(plainly, max_tokens=1))
    plain = await answer(client, task, kind, plainly)
    await client.documents(opened(f"{name}.txt", plain.text, Path(base.workspace)))
    await indexed(client)
    rows = []
    for way in ways:
        other = await answer(client, task, kind, replace(base, strict=way == "strict"))
        if other.prompt != plain.prompt:
            sys.exit(f"{name} {way}: the prompt is another")
        rows.append(compared(name, way, plain, other))
    return rows


async def compare(
    arguments: argparse.Namespace, model: str, scratch: Path, out: Path, done: set[tuple[str, str]]
) -> None:
    tasks = read_tasks(arguments.tasks)
    roots = workspaces(tasks, scratch / "workspaces")
    additions.add(paths.global_directories_file(), Path(sysconfig.get_path("stdlib")))
    base = Generation(
        model=model,
        sampling=Sampling(temperature=arguments.temperature, seed=SEED),
        margins=True,
        max_tokens=arguments.max_tokens,
        file_context=arguments.file_context,
    )
    ways = ["drafted", "strict"]
    kinds: list[tuple[Kind, int]] = [
        ("edit", arguments.edits),
        ("explain", arguments.explanations),
        ("chat", arguments.turns),
    ]
    async with await Client.connect() as client:
        try:
            for kind, limit in kinds:
                for number, task in enumerate(spread(tasks, limit)):
                    name = f"{kind} {number} {task.repo} {task.commit}"
                    turned = ways if number % 2 else ways[::-1]
                    wanted = [way for way in turned if (name, way) not in done]
                    if not wanted:
                        continue
                    here = msgspec.structs.replace(base, workspace=str(roots[task.repo]))
                    try:
                        rows = await rows_of(client, task, kind, here, wanted, name)
                    except CopydraftError as error:
                        print(f"{name}: {error.message}", flush=True)
                        continue
                    for row in rows:
                        with out.open("ab") as file:
                            file.write(msgspec.json.encode(row) + b"\n")
                        told = "equal" if row.fork is None else row
                        print(f"{name} {row.way}: {told}", flush=True)
        finally:
            await client.stop()


def summary(rows: Sequence[Row]) -> dict[str, object]:
    result: dict[str, object] = {}
    for way in dict.fromkeys(row.way for row in rows):
        for kind in dict.fromkeys(row.task.partition(" ")[0] for row in rows):
            mine = [row for row in rows if row.way == way and row.task.startswith(kind)]
            copied: Counter[str] = Counter()
            for row in mine:
                copied.update(row.copied)
            result[f"{kind} {way}"] = {
                "tasks": len(mine),
                "equal": sum(row.fork is None for row in mine),
                "fork_margins": sorted(
                    round(row.margin, 4) if row.margin is not None else -1.0
                    for row in mine
                    if row.fork is not None
                ),
                "tokens": sum(row.tokens for row in mine),
                "characters_copied": dict(copied),
            }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(prog="lossless", description=__doc__)
    parser.add_argument("tasks", type=Path, help="edit tasks, one JSON object a line")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--edits", type=int, default=60)
    parser.add_argument("--explanations", type=int, default=20)
    parser.add_argument("--turns", type=int, default=0, help="edits as turns of an agent")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument(
        "--file-context",
        type=int,
        default=256,
        help="tokens of the file in the prompt: few, that the workspace may have what it has not",
    )
    parser.add_argument("--out", type=Path, default=Path("lossless.jsonl"))
    arguments = parser.parse_args()
    model = str(library.resolve(arguments.model))
    scratch = Path(tempfile.mkdtemp(prefix="lossless-"))
    for name in ("RUNTIME_DIR", "STATE_HOME", "CACHE_HOME", "CONFIG_HOME"):
        os.environ[f"XDG_{name}"] = str(scratch)
    os.environ["COPYDRAFT_RECORD"] = "1"
    try:
        done = {(row.task, row.way) for row in saved(arguments.out)}
        asyncio.run(compare(arguments, model, scratch, arguments.out, done))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(json.dumps(summary(saved(arguments.out)), indent=2))


def saved(out: Path) -> list[Row]:
    lines = out.read_bytes().splitlines() if out.exists() else []
    return [msgspec.json.decode(line, type=Row) for line in lines]


if __name__ == "__main__":
    main()
