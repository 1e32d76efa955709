"""How the state database came to its present shape: one function per step, recorded when applied.

A step that has been released is never edited; a change is a new step at the end.
"""

from __future__ import annotations

from sqlite_utils import Database, Migrations

STATE = Migrations("copydraft.state")


def from_the_future(db: Database) -> list[str]:
    """Steps that were applied to `db` by a newer copydraft and that this one does not know."""
    known = {step.name for step in STATE.pending(Database(memory=True))}
    return [step.name for step in STATE.applied(db) if step.name not in known]


@STATE()
def m001_requests(db: Database) -> None:
    db.table("requests").create(
        {
            "id": int,
            "ended_at": float,  # seconds since 1970, UTC
            "kind": str,
            "agent": str,
            "model": str,
            "device": str,
            "draft": int,
            "strict": int,
            "prompt_tokens": int,
            "reused_tokens": int,
            "output_tokens": int,
            "copied_tokens": int,
            "passes": int,
            "drafted": str,  # JSON: tokens by corpus
            "accepted": str,  # JSON: tokens by corpus
            "draft_us": float,
            "verify": str,  # JSON: [{"width", "passes", "ms"}]
            "first_token_ms": float,
            "decode_ms": float,
            "tokens_per_s": float,
            "tokens_per_s_copied": float,
            "tokens_per_s_novel": float,
            "stop_reason": str,
            "read_write_ratio": float,
            "redecoded": int,
            "smallest_margin": float,
        },
        pk="id",
    )
    db.table("requests").create_index(["ended_at"])


@STATE()
def m002_costs(db: Database) -> None:
    db.table("costs").create({"key": str, "width": int, "ms": float}, pk=("key", "width"))
