"""The index against its budget, on real files and a model's own vocabulary; no model runs.

Indexes text of the given roots (this interpreter's library by default), then measures look-ups on
it, its size, how long reopening takes, and what keystrokes in a large buffer cost. Times are of the
CPU, all threads together, so that other programs do not count. One object of JSON on stdout; with
--check, a failure if something is over budget.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from copydraft.engine.bulk import index_tokenizer
from copydraft.index import ingest, shards
from copydraft.index.cache import IndexCache
from copydraft.index.overlay import Overlay
from copydraft.index.search import Search, Shown
from copydraft.index.segment import Segment
from copydraft.index.shards import CorpusKey
from copydraft.index.snapshot import Snapshots
from copydraft.index.tokenizing import PLAIN, BulkTokenizer
from copydraft.models import library
from copydraft.workspace.scanner import Scanner

_BUDGET = {
    "index_tokens_per_s_and_core": (150_000, "at least"),
    "bytes_per_token_on_disk": (16, "at most"),
    "bytes_per_token_in_memory": (16, "at most"),
    "reopen_s": (1.0, "at most"),
    "look_up_us_median": (50, "at most"),
    "look_up_us_p99": (200, "at most"),
    "small_documents_look_up_us_median": (50, "at most"),
    "small_documents_look_up_us_p99": (200, "at most"),
    "keystroke_ms_p99": (2.0, "at most"),
    "draftable_ms_median": (50, "at most"),
}
_DOCUMENTS = 10_000
_UPDATES = 50
_LOOK_UPS = 20_000
_RUN = 16
"""Look-ups in a row, as an answer grows."""
_CHANGED = 8
"""Every so many look-ups a token of the tail is another, so that matches are of all lengths."""

Figures = dict[str, float]


def microseconds(times_s: Sequence[float], name: str, scale: float = 1e6) -> Figures:
    values = np.array(times_s) * scale
    return {
        f"{name}_median": round(float(np.median(values)), 3),
        f"{name}_p99": round(float(np.percentile(values, 99)), 3),
    }


def timed(call: Callable[[], object]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


# --- indexing ---


def index_roots(
    database: Path, roots: Sequence[Path], tokenizer: BulkTokenizer, most: int
) -> Figures:
    """Index until there are `most` tokens."""
    cache = IndexCache(database)
    tokens = files = 0
    begun = time.process_time()
    wall_begun = time.perf_counter()
    for root in roots:
        scanner = Scanner(root, suffixes=(".py", ".pyi", ".h", ".ts", ".js", ".c"), library=True)
        changes = ingest.update(
            cache, key_of(root, tokenizer), scanner, tokenizer, PLAIN, most_tokens=most - tokens
        )
        tokens += changes.tokens
        files += changes.added
        if tokens >= most:
            break
    seconds = time.process_time() - begun
    found = cache.run(shards.indexed)
    return {
        "tokens": tokens,
        "documents": files,
        "segments": sum(each.segments for each in found),
        "index_s": round(seconds, 2),
        "index_wall_s": round(time.perf_counter() - wall_begun, 2),
        "index_tokens_per_s_and_core": round(tokens / seconds),
        "bytes_per_token_on_disk": round(cache.size() / tokens, 2),
    }


def key_of(root: Path, tokenizer: BulkTokenizer) -> CorpusKey:
    return CorpusKey("global", str(root), PLAIN.name, tokenizer.fingerprint)


# --- reopening, in a process of its own ---


def reopen(database: Path) -> None:
    """Print what opening all corpora takes."""
    cache = IndexCache(database)
    before = resident_bytes()
    begun = time.process_time()
    keys = [each.key for each in cache.run(shards.indexed)]
    snapshots = Snapshots(cache, "file")
    snapshots.refresh(keys)
    seconds = time.process_time() - begun
    tokens = sum(len(each) for key in keys for each in snapshots.segments(key))
    memory = (resident_bytes() - before) / tokens
    print(json.dumps({"reopen_s": seconds, "bytes_per_token_in_memory": memory}))


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize()


def reopened(database: Path) -> Figures:
    command = [sys.executable, __file__, "--reopen", str(database)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {name: round(value, 3) for name, value in json.loads(answer).items()}


# --- look-ups ---


def tails(segments: Sequence[Segment], chance: random.Random) -> list[list[int]]:
    """Ends of outputs: indexed text, growing token by token, here and there with another token."""
    found: list[list[int]] = []
    documents = [(s, d) for s in segments for d in s.documents if d.length > 100]
    while len(found) < _LOOK_UPS:
        segment, document = chance.choice(documents)
        tokens = segment.tokens(document).tolist()
        at = chance.randrange(40, len(tokens) - _RUN)
        for number in range(_RUN):
            tail = tokens[at + number - 40 : at + number]
            if chance.randrange(_CHANGED) == 0:
                tail[-chance.randrange(1, 16)] = chance.choice(tokens)
            found.append(tail)
    return found


def look_ups(segments: Sequence[Segment], name: str, chance: random.Random) -> Figures:
    search = Search([Shown(segment, frozenset()) for segment in segments])
    asked = tails(segments, chance)
    times = [timed(partial(search.longest_matches, tail, 8)) for tail in asked]
    return microseconds(times, name)


def small_documents(scratch: Path, tokenizer: BulkTokenizer, text: str, seed: int) -> Figures:
    """Look-ups in 10,000 documents that came in many updates."""
    root = scratch / "many"
    cache = IndexCache(scratch / "many.db")
    chance = random.Random(seed)
    for update in range(_UPDATES):
        for number in range(_DOCUMENTS // _UPDATES):
            path = root / f"d{update}" / f"f{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            at = chance.randrange(len(text) - 1000)
            path.write_text(text[at : at + 1000], "utf-8")
        scanner = Scanner(root)
        only = [root / f"d{update}"]
        ingest.update(cache, key_of(root, tokenizer), scanner, tokenizer, PLAIN, only=only)
    snapshots = Snapshots(cache, "file")
    snapshots.refresh([key_of(root, tokenizer)])
    segments = snapshots.segments(key_of(root, tokenizer))
    return {
        "small_documents": sum(len(segment.documents) for segment in segments),
        "small_documents_segments": len(segments),
        **look_ups(segments, "small_documents_look_up_us", random.Random(seed)),
    }


# --- typing ---


def keystrokes(tokenizer: BulkTokenizer, text: str, chance: random.Random) -> Figures:
    """Letters typed all over a buffer; after some of them, a search."""
    overlay = Overlay(lambda: tokenizer, [PLAIN])
    overlay.open("large.py", 0, text)
    typed, searched = [], []
    for version in range(1, 501):
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice("abc (\n") + text[at:]
        typed.append(timed(partial(overlay.open, "large.py", version, text)))
        if version % 20 == 0:
            searched.append(typed[-1] + timed(partial(overlay.segments, PLAIN)))
    [segment] = overlay.segments(PLAIN)
    return {
        "buffer_tokens": segment.live,
        **microseconds(typed, "keystroke_ms", 1e3),
        **microseconds(searched, "draftable_ms", 1e3),
    }


def large_text(segments: Sequence[Segment], tokens: int) -> str:
    """Files put together until they have about so many tokens."""
    text = ""
    for document in (d for s in segments for d in s.documents):
        text += Path(document.source.path).read_text("utf-8")
        tokens -= document.length
        if tokens <= 0:
            break
    return text


def measure(roots: Sequence[Path], tokenizer: BulkTokenizer, most: int, seed: int) -> Figures:
    with tempfile.TemporaryDirectory() as scratch:
        database = Path(scratch, "index.db")
        figures = index_roots(database, roots, tokenizer, most)
        figures |= reopened(database)
        snapshots = Snapshots(IndexCache(database), "file")
        keys = [key_of(root, tokenizer) for root in roots]
        snapshots.refresh(keys)
        segments = [segment for key in keys for segment in snapshots.segments(key)]
        figures |= look_ups(segments, "look_up_us", random.Random(seed))
        text = large_text(segments, 100_000)
        figures |= small_documents(Path(scratch), tokenizer, text, seed)
        figures |= keystrokes(tokenizer, text, random.Random(seed))
    return figures


def over_budget(figures: Figures) -> list[str]:
    """What is not as it should be, in words."""
    return [
        f"{name} is {figures[name]}, {how} {limit} is wanted"
        for name, (limit, how) in _BUDGET.items()
        if (figures[name] < limit if how == "at least" else figures[name] > limit)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b", help="whose vocabulary it is")
    parser.add_argument("--root", type=Path, action="append", help="may be given several times")
    parser.add_argument("--tokens", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--reopen", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.reopen:
        reopen(arguments.reopen)
        return
    roots = arguments.root or [
        Path(sysconfig.get_path("stdlib")),
        Path(sysconfig.get_path("purelib")),
    ]
    tokenizer = index_tokenizer(library.resolve(arguments.model))
    figures = measure(
        [root.resolve() for root in roots], tokenizer, arguments.tokens, arguments.seed
    )
    figures["cores"] = len(os.sched_getaffinity(0))
    print(json.dumps(figures))
    if arguments.check and (faults := over_budget(figures)):
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
