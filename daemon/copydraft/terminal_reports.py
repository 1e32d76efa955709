"""Reports in the terminal: statistics, settings and the doctor's findings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from copydraft.config import Config, Source
from copydraft.printable import printable
from copydraft.protocol import StatsReport, Usage

if TYPE_CHECKING:
    from copydraft.doctor.finding import Finding

_BAR_WIDTH = 40
_CORPORA = ("region", "prediction", "format", "session", "workspace", "global")
_STATE_STYLE = {"ok": "green", "warning": "yellow", "problem": "red"}


def table(*columns: str) -> Table:
    """Columns without rules; those whose heading starts with ">" are numbers."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(
            column.removeprefix(">"),
            justify="right" if column.startswith(">") else "left",
            no_wrap=True,
        )
    return made


# --- statistics -----------------------------------------------------------------------------


def print_stats(report: StatsReport, console: Console) -> None:
    period = "since the beginning" if report.days is None else f"of the last {report.days} days"
    if not report.total.requests:
        console.print(f"no requests {period}")
        return
    console.print(f"Requests {period}", style="bold")
    total = msgspec.structs.replace(report.total, name="total")
    console.print(_usage_table([*report.by_kind, *report.by_model, total]), "")
    kinds = report.by_kind if len(report.by_kind) == 1 else [*report.by_kind, total]
    console.print(_drafts_table(kinds), "")
    _print_days(report.by_day, console)


def _usage_table(usages: Sequence[Usage]) -> Table:
    made = table("", ">requests", ">read", ">kept", ">written", ">copied", ">passes", ">tokens/s")
    for usage in usages:
        made.add_row(
            _name(usage),
            f"{usage.requests:,}",
            f"{usage.prompt_tokens:,}",
            f"{usage.reused_tokens:,}",
            f"{usage.output_tokens:,}",
            f"{usage.copied_share:.0%}",
            f"{usage.passes:,}",
            f"{usage.tokens_per_s:.1f}",
        )
    return made


def _name(usage: Usage) -> Text:
    """As it is: brackets in a model's name are no markup."""
    return Text(printable(usage.name))


def _drafts_table(usages: Sequence[Usage]) -> Table:
    """Nearest corpora first; `share` is accepted of drafted, `of text` of what was written."""
    made = table("drafts of", "from", ">drafted", ">accepted", ">share", ">of text")
    for usage in usages:
        name = _name(usage)
        corpora = sorted(usage.drafted, key=_distance)
        for corpus in corpora:
            drafted, accepted = usage.drafted[corpus], usage.accepted.get(corpus, 0)
            made.add_row(name, corpus, *_acceptance(drafted, accepted, usage))
            name = Text()
        if len(corpora) > 1:
            drafted, accepted = sum(usage.drafted.values()), sum(usage.accepted.values())
            made.add_row(name, "all", *_acceptance(drafted, accepted, usage))
    return made


def _distance(corpus: str) -> tuple[int, str]:
    """Where a corpus stands in tables: the sooner, the nearer it is to the text; others last."""
    return (_CORPORA.index(corpus) if corpus in _CORPORA else len(_CORPORA), corpus)


def _acceptance(drafted: int, accepted: int, usage: Usage) -> tuple[str, str, str, str]:
    share = f"{accepted / drafted:.0%}" if drafted else ""
    of_text = f"{accepted / usage.output_tokens:.0%}" if usage.output_tokens else ""
    return f"{drafted:,}", f"{accepted:,}", share, of_text


def _print_days(days: Sequence[Usage], console: Console) -> None:
    """A bar for every day: copied tokens, then those that the model wrote alone."""
    most = max(day.output_tokens for day in days)
    console.print("Tokens by day (█ copied, ░ newly written)", style="bold")
    for day in days:
        length = round(_BAR_WIDTH * day.output_tokens / max(1, most))
        copied = round(length * day.copied_share)
        console.print(
            Text(f"{day.name}  "),
            Text("█" * copied, style="green"),
            Text("░" * (length - copied) + f" {day.output_tokens:,}"),
            sep="",
            soft_wrap=True,
        )


# --- settings and findings ------------------------------------------------------------------


def print_settings(config: Config, sources: Mapping[str, Source], console: Console) -> None:
    made = table("setting", "value", "from")
    for key, source in sources.items():
        value = Text(_toml(getattr(config, key)))
        made.add_row(key, value, source, style="dim" if source == "default" else "")
    console.print(made)


def _toml(value: str | float) -> str:
    """As the config file would have it: JSON's scalars are TOML's too, but for `inf`."""
    return "inf" if value == math.inf else json.dumps(value)


def print_findings(findings: Sequence[Finding], console: Console) -> None:
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        console.print(
            Text(f"{finding.state:<7}", style=_STATE_STYLE[finding.state]),
            Text(f"  {finding.check:<{width}}  {printable(finding.message)}"),
            sep="",
            soft_wrap=True,
        )
        if finding.remedy:
            remedy = printable(finding.remedy)
            console.print(Text(f"{'':<{width + 11}}→ {remedy}"), soft_wrap=True)
