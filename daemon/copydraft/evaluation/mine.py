"""Single-region edits out of a git history: tasks as a user might have asked for them.

A commit changed a file within one region; the region grown to about forty lines is what a user
would have selected, the commit's subject what they would have asked for, and the file after the
commit what they got. Merges, and whatever people did not write by hand, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from copydraft.emission.fence import language
from copydraft.evaluation.edit_task import EditTask
from copydraft.evaluation.history import Commit, Contents, commits, contents
from copydraft.textedits import split_lines

_REGION_LINES = 40
_LEAST_CONTEXT = 6
"""Lines around the change, on either side, however long the change."""
_MOST_CHANGED_LINES = 80
_REGION_CHARS = range(200, 3300)
_FILE_LINES = 16
_FILE_BYTES = 60_000
_SUBJECT_CHARS = range(12, 100)
_MOST_FILES = 20
"""A commit that changed more files did one thing to all of them, mostly by machine."""

_NOT_WRITTEN_HERE = re.compile(
    r"(^|/)(vendor|vendored|_vendor|third_party|third-party|node_modules|site-packages"
    r"|dist|build|generated|__generated__)/"
    r"|\.min\.|\.lock$|(^|/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml)$"
    r"|(_pb2|_pb2_grpc)\.pyi?$|\.(pb|gen|generated)\.|_generated\.",
    re.IGNORECASE,
)
_GENERATED = re.compile(
    r"@generated|(?:code|file) (?:is |was )?(?:auto[- ]?)?generated|do not edit", re.IGNORECASE
)
_HEADER_LINES = 8


def edits(repository: Path, limit: int) -> Iterator[EditTask]:
    """At most `limit` edits, the newest first, at most one of each commit.

    Raises:
        BadRequest: git is missing, or there is no repository or no commit.
    """
    found = 0
    with contents(repository) as read:
        for commit in commits(repository):
            if found == limit:
                return
            if task := next(edits_of(commit, read, repository.resolve().name), None):
                found += 1
                yield task


def edits_of(commit: Commit, read: Contents, repo: str) -> Iterator[EditTask]:
    """The commit's edits that will do, at most one of each file."""
    subject = commit.subject.strip()
    if len(subject) not in _SUBJECT_CHARS or len(commit.files) > _MOST_FILES:
        return
    for file in commit.files:
        if not language(file.path) or _NOT_WRITTEN_HERE.search(file.path):
            continue
        before, after = (_text(read, name) for name in (file.before, file.after))
        if before is None or after is None:
            continue
        if region := _region(before, after):
            start, end, old, new = region
            yield EditTask(
                repo=repo,
                commit=commit.id[:12],
                path=file.path,
                instruction=subject,
                start=start,
                end=end,
                before=old,
                after=new,
                file=before,
            )


def _text(read: Contents, name: str) -> str | None:
    """The file's text; None where it is binary, too large or generated."""
    text = text_of(read, name, _FILE_BYTES)
    if text is None or _GENERATED.search("".join(split_lines(text)[:_HEADER_LINES])):
        return None
    return text


def text_of(read: Contents, name: str, most: int) -> str | None:
    """The text of that name; None where it is binary or of more than `most` bytes."""
    data = read.read(name, most)
    if data is None or b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _region(before: str, after: str) -> tuple[int, int, str, str] | None:
    """Lines [start, end) of `before` to select, their text, and what became of it.

    All changes lie within. None where they are too far apart, or the file or region too small.
    """
    old, new = split_lines(before), split_lines(after)
    first = _common(old, new)
    last = _common(old[first:][::-1], new[first:][::-1])
    changed = len(old) - first - last
    if len(old) < _FILE_LINES or max(changed, len(new) - first - last) > _MOST_CHANGED_LINES:
        return None
    context = max(_LEAST_CONTEXT, (_REGION_LINES - changed) // 2)
    start = max(0, first - context)
    end = min(len(old), len(old) - last + context)
    texts = ["".join(old[start:end]), "".join(new[start : end + len(new) - len(old)])]
    if any(len(text) not in _REGION_CHARS for text in texts) or texts[0] == texts[1]:
        return None
    return start, end, texts[0], texts[1]


def _common(left: list[str], right: list[str]) -> int:
    """How many lines both begin with."""
    pairs = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))
