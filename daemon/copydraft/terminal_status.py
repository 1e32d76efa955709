"""The daemon's status in plain lines; amounts of bytes and time as people read them."""

from __future__ import annotations

from copydraft.protocol import ModelStatus, Status, WorkspaceStatus


def amount(size: float) -> str:
    """Bytes in the unit that reads best: `1.1 GB`."""
    for unit in ("bytes", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = {"d": days, "h": hours, "min": minutes, "s": rest}
    shown = [f"{value} {unit}" for unit, value in parts.items() if value][:2]
    return " ".join(shown) or "0 s"


def status_lines(status: Status) -> list[str]:
    daemon = (
        f"copydraft {status.version}, process {status.pid}, "
        f"up {duration(status.uptime_s)}, {amount(status.resident_bytes)} resident"
    )
    requests = f"{status.active} running, {status.waiting} waiting, {status.requests} ended"
    unload, leave = _delay(status.idle_unload_s), _delay(status.idle_exit_s)
    rows = [
        ("daemon", daemon),
        ("socket", f"{status.socket}, {status.clients} connected"),
        *([("agents", api)] if (api := status.api.url or status.api.problem) else []),
        ("model", _model(status.model)),
        *(("workspace", _workspace(each)) for each in status.workspaces),
        ("requests", requests),
        ("last", f"{status.tokens_per_s:.1f} tokens/s"),
        ("drafts", f"{status.acceptance:.0%} accepted"),
        ("idle", f"model unloaded {unload}, exit {leave}"),
    ]
    if not status.requests:
        rows = [row for row in rows if row[0] not in ("last", "drafts")]
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {text}" for name, text in rows]


def _delay(seconds: float | None) -> str:
    return "never" if seconds is None else f"after {duration(seconds)}"


def _model(model: ModelStatus | None) -> str:
    if model is None:
        return "none loaded"
    return (
        f"{model.name} ({model.architecture}, {model.memory_kind}, {amount(model.size_bytes)}) "
        f"on {model.device}, context {model.context:,} tokens, {model.pass_ms:.1f} ms a token"
    )


def _workspace(workspace: WorkspaceStatus) -> str:
    parts = [
        f"{workspace.open_documents:,} open",
        f"{workspace.workspace_tokens:,} tokens indexed",
        f"{workspace.global_tokens:,} of libraries",
    ]
    if workspace.indexing:
        parts.append("indexing")
    return f"{workspace.root}: {', '.join(parts)}"
