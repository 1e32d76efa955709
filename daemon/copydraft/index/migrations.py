"""How the databases came to their present shape: one function per step, recorded when applied.

A step that has been released is never edited; a change is a new step at the end.
"""

from __future__ import annotations

from sqlite_utils import Database, Migrations

STATE = Migrations("copydraft.state")
"""Statistics and cost tables: kept for good."""

INDEX = Migrations("copydraft.index")
"""Text to draft from: a cache. Delete what a step cannot turn into the new shape."""


def from_the_future(db: Database, steps: Migrations = STATE) -> list[str]:
    """Steps that were applied to `db` by a newer copydraft and that this one does not know."""
    known = {step.name for step in steps.pending(Database(memory=True))}
    return [step.name for step in steps.applied(db) if step.name not in known]


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


@STATE()
def m003_profiles(db: Database) -> None:
    db.table("profiles").create({"kind": str, "profile": str}, pk="kind")


@INDEX()
def m001_shards(db: Database) -> None:
    db.table("corpora").create(
        {
            "id": int,
            "kind": str,  # "workspace" or "global"
            "root": str,
            "format": str,  # of the printed text; its name changes when what it prints does
            "tokenizer": str,  # fingerprint
            "used": int,  # s since 1970, when it was last brought up to date
        },
        pk="id",
    ).create_index(["kind", "root", "format", "tokenizer"], unique=True)
    db.table("segments").create(
        {
            "id": int,
            "corpus": int,
            "size": int,  # tokens, those of dropped documents and separators included
            "text": bytes,
            "places": bytes,
            "directory": bytes,
            "checksum": int,  # CRC-32 of the three
        },
        pk="id",
    ).create_index(["corpus"])
    db.table("documents").create(
        {
            "corpus": int,
            "path": str,  # below the corpus' root
            "size": int,  # bytes of the file
            "modified": int,  # ns since 1970
            "changed": int,  # ns since 1970
            "digest": str,  # of the content; "": it is no text that may be indexed
            "segment": int,
            "start": int,
            "count": int,  # tokens
        },
        pk=("corpus", "path"),
    ).create_index(["segment"])
