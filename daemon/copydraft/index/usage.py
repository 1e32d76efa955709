"""Rows of statistics in the state database: one per request, summed for `copydraft stats`."""

from __future__ import annotations

import datetime
from collections import defaultdict
from operator import attrgetter
from typing import Any

import msgspec
from sqlite_utils import Database

from copydraft.protocol import RequestStats, StatsReport, Usage

_CHOSEN = """
WITH chosen AS (
  SELECT *, CASE :by
    WHEN 'kind' THEN kind
    WHEN 'model' THEN model
    WHEN 'day' THEN date(ended_at, 'unixepoch', 'localtime')
    ELSE ''
  END AS name
  FROM requests WHERE ended_at >= :since AND :kind IN ('', kind)
)
"""

_SUMS = (
    _CHOSEN
    + """
SELECT name, count(*) AS requests,
  sum(prompt_tokens) AS prompt_tokens, sum(reused_tokens) AS reused_tokens,
  sum(output_tokens) AS output_tokens, sum(copied_tokens) AS copied_tokens,
  sum(passes) AS passes, sum(decode_ms) AS decode_ms,
  coalesce(sum(tokens_per_s * decode_ms) / nullif(sum(decode_ms), 0), 0.0) AS tokens_per_s
FROM chosen GROUP BY name ORDER BY requests DESC, name
"""
)

_BY_CORPUS = (
    _CHOSEN
    + """
SELECT name, 'drafted' AS what, key AS corpus, sum(value) AS tokens
  FROM chosen, json_each(drafted) GROUP BY name, corpus
UNION ALL
SELECT name, 'accepted' AS what, key AS corpus, sum(value) AS tokens
  FROM chosen, json_each(accepted) GROUP BY name, corpus
"""
)


_NOTHING = Usage(
    name="",
    requests=0,
    prompt_tokens=0,
    reused_tokens=0,
    output_tokens=0,
    copied_tokens=0,
    copied_share=0.0,
    passes=0,
    drafted={},
    accepted={},
    decode_ms=0.0,
    tokens_per_s=0.0,
)


def insert(db: Database, stats: RequestStats, ended_at: float) -> None:
    """Keep one request that ended at `ended_at`, in seconds since 1970."""
    row = msgspec.structs.asdict(stats) | {
        "ended_at": ended_at,
        "drafted": msgspec.json.encode(stats.drafted).decode(),
        "accepted": msgspec.json.encode(stats.accepted).decode(),
        "verify": msgspec.json.encode(stats.verify).decode(),
    }
    db.table("requests").insert(row)


def clear(db: Database) -> None:
    db.table("requests").delete_where()


def report(db: Database, days: int | None, kind: str = "") -> StatsReport:
    """Sums over the last `days` days of the local calendar, today included; None: over all.

    With `kind`, over requests of that kind only.
    """
    since = 0.0 if days is None else _midnight(days - 1).timestamp()
    total = _sums(db, "", since, kind)
    return StatsReport(
        days=days,
        total=total[0] if total else _NOTHING,
        by_kind=_sums(db, "kind", since, kind),
        by_model=_sums(db, "model", since, kind),
        by_day=sorted(_sums(db, "day", since, kind), key=attrgetter("name")),
    )


def _midnight(days_ago: int) -> datetime.datetime:
    """The start of a local day; naive, so that `timestamp()` applies that day's own offset."""
    day = datetime.datetime.now().date() - datetime.timedelta(days=days_ago)
    return datetime.datetime.combine(day, datetime.time.min)


def _sums(db: Database, by: str, since: float, kind: str) -> list[Usage]:
    given = {"by": by, "since": since, "kind": kind}
    corpora: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for row in db.query(_BY_CORPUS, given):
        corpora[row["name"], row["what"]][row["corpus"]] = row["tokens"]
    return [
        _usage(row, corpora[row["name"], "drafted"], corpora[row["name"], "accepted"])
        for row in db.query(_SUMS, given)
    ]


def _usage(row: dict[str, Any], drafted: dict[str, int], accepted: dict[str, int]) -> Usage:
    output = row["output_tokens"]
    return Usage(
        **row,
        drafted=drafted,
        accepted=accepted,
        copied_share=row["copied_tokens"] / output if output else 0.0,
    )
