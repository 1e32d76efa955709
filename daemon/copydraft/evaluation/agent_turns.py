"""Edit tasks as turns of a coding agent: it has read the place, and now calls its editing tool."""

from __future__ import annotations

import json

from msgspec.structs import replace

from copydraft.emission.replacing import unique_changes
from copydraft.evaluation.edit_task import EditTask
from copydraft.protocol import ChatMessage, ChatRequest, Generation, Tool, ToolCall
from copydraft.textedits import split_lines

LINES_AROUND = 40
"""Lines that the agent reads above and below the region."""

MOST_TOKENS = 512
"""Written where the request sets no limit: small models may go on and on."""

_SYSTEM = (
    "You are a coding agent. You change files by calling tools. Answer with one call of edit_file; "
    "old_text has whole lines of the file, exactly as they are and without their numbers."
)
_TEXT = {"type": "string"}
READ = Tool(
    name="read_file",
    description="Read lines of a file. Each comes with its number.",
    parameters={
        "type": "object",
        "properties": {"path": _TEXT, "offset": {"type": "integer"}, "limit": {"type": "integer"}},
        "required": ["path"],
    },
)
EDIT = Tool(
    name="edit_file",
    description="Put a new text in the place of an old one in a file.",
    parameters={
        "type": "object",
        "properties": {"path": _TEXT, "old_text": _TEXT, "new_text": _TEXT},
        "required": ["path", "old_text", "new_text"],
    },
)


def turn_of(task: EditTask, generation: Generation) -> ChatRequest:
    """The conversation up to the call that makes the edit."""
    lines = split_lines(task.file)
    first = max(0, task.start - LINES_AROUND)
    last = min(len(lines), task.end + LINES_AROUND)
    listing = "".join(
        f"{number:6}\t{line}" for number, line in enumerate(lines[first:last], first + 1)
    )
    read = ToolCall(
        id="read00001",
        name=READ.name,
        arguments=json.dumps({"path": task.path, "offset": first + 1, "limit": last - first}),
    )
    where = f"{task.path}, lines {task.start + 1} to {task.end}"
    return ChatRequest(
        messages=[
            ChatMessage(role="system", content=_SYSTEM),
            ChatMessage(role="user", content=f"{task.instruction}\n\nIt is about {where}."),
            ChatMessage(role="assistant", calls=[read]),
            ChatMessage(role="tool", content=listing, answers=read.id),
        ],
        tools=[READ, EDIT],
        generation=replace(generation, max_tokens=generation.max_tokens or MOST_TOKENS),
    )


def calls_of(task: EditTask) -> list[dict[str, str]]:
    """Arguments of the calls that make the edit: what changes, with lines around it."""
    before, after = split_lines(task.before), split_lines(task.after)
    return [
        {
            "path": task.path,
            "old_text": "".join(before[change.old_start : change.old_end]),
            "new_text": "".join(after[change.new_start : change.new_end]),
        }
        for change in unique_changes(before, after)
    ]
