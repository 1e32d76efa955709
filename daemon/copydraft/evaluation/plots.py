"""The results of a bench as an SVG; the same rows give the same bytes.

matplotlib is a tool of development: it comes with the group `dev`, not with copydraft.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from copydraft.errors import BadRequest, DiskProblem
from copydraft.evaluation.ablation import CORPORA, Row
from copydraft.evaluation.bench_rows import PLAIN, Heading, Rows, Step
from copydraft.evaluation.bench_summary import of_kind, summary

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
except ImportError as _error:  # pragma: no cover
    raise BadRequest(
        "matplotlib is not installed, so nothing can be drawn",
        "install it into .venv: pip install matplotlib",
    ) from _error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "figure.facecolor": "white",  # readable on a dark page too
    # Element ids are hashes of the content, or the file would differ each time.
    "svg.hashsalt": "copydraft",
    "svg.fonttype": "none",
}
_OURS, _OTHERS, _BOUND = "#1f6feb", "#9aa4b2", "#d4a72c"
_CORPORA = ("#1f6feb", "#c2410c", "#15803d", "#7e22ce")

_SHADES = ("#9aa4b2", "#a5c8fa", "#5b9bf2", "#86cfa0", "#1f6feb")

_RUNS = ((0, 0), (1, 1), (2, 3), (4, 7), (8, 15), (16, 31), (32, None))
"""Lengths of runs that are drawn as one, as drafting/policy.py has them."""

_FEW = 5
"""Shares of fewer observations say nothing and are not drawn."""


def draw_bench(heading: Heading, rows: Rows, path: Path) -> None:
    """Draw, for each kind of request: speedups, acceptance, and passes beside the formula.

    Raises:
        DiskProblem: the file cannot be written.
    """
    kinds = summary(heading, rows)["kinds"]
    most = max(len(of["arms"]) for of in kinds.values()) if kinds else 0
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(11, max(1, len(kinds)) * (1.6 + 0.19 * most)))
        figure.suptitle(
            f"{heading.model}, {heading.device}, threads: {heading.threads}",
            fontsize=9,
            x=0.01,
            ha="left",
        )
        axes = figure.subplots(max(1, len(kinds)), 3, squeeze=False)
        for line, (kind, of) in zip(axes, kinds.items(), strict=False):
            steps = _steps(rows, kind)
            draw_speedups(line[0], f"{kind}: speedup over plain", _speeds(of["arms"]))
            draw_acceptance(line[1], f"{kind}: drafted tokens accepted", steps)
            draw_formula(line[2], f"{kind}: tokens written by a pass", steps)
        _save(figure, path)


def draw_speedups(axes: Axes, title: str, speeds: Mapping[str, Sequence[float]]) -> None:
    """Bars of the medians and lines from the least to the most, each (median, least, most)."""
    names = sorted(speeds, key=lambda name: speeds[name][0])
    medians = [speeds[name][0] for name in names]
    low = [median - speeds[name][1] for name, median in zip(names, medians, strict=True)]
    high = [speeds[name][2] - median for name, median in zip(names, medians, strict=True)]
    colours = [_colour(name) for name in names]
    axes.barh(names, medians, xerr=[low, high], color=colours, error_kw={"lw": 1, "ecolor": "#333"})
    for at, name in enumerate(names):
        axes.text(speeds[name][2] + 0.02 * max(medians), at, f"{medians[at]:.2f}", va="center")
    axes.axvline(1, color="#333", lw=0.8, ls=":")
    axes.set_title(title, loc="left")
    axes.margins(x=0.12)


def draw_acceptance(axes: Axes, title: str, steps: Sequence[Step]) -> None:
    """Share of drafted tokens that were right, by corpus and by the run that they follow."""
    labels = [_label(low, high) for low, high in _RUNS]
    for (corpus, shares), colour in zip(acceptance(steps).items(), _CORPORA, strict=False):
        places = [place for place, (_, judged) in enumerate(shares) if judged >= _FEW]
        if not places:
            continue
        values = [shares[place][0] / shares[place][1] for place in places]
        axes.plot(places, values, "o-", ms=3, color=colour, label=corpus)
    axes.set_xticks(range(len(labels)), labels)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("drafted tokens right in a row before")
    axes.set_title(title, loc="left")
    axes.grid(axis="y", lw=0.4)
    if axes.lines:
        axes.legend(frameon=False)


def acceptance(steps: Sequence[Step]) -> dict[str, list[tuple[int, int]]]:
    """By corpus, for each of `_RUNS`: right tokens, and those that were judged at all.

    What stands behind the first wrong token of a draft was not judged.
    """
    found: defaultdict[str, list[list[int]]] = defaultdict(lambda: [[0, 0] for _ in _RUNS])
    for step in steps:
        for number in range(min(step.accepted + 1, step.drafted)):
            run = step.run + number
            place = max(i for i, (low, _) in enumerate(_RUNS) if run >= low)
            found[step.corpus][place][0] += number < step.accepted
            found[step.corpus][place][1] += 1
    return {corpus: [(right, of) for right, of in found[corpus]] for corpus in sorted(found)}


def expected_tokens(rate: float, drafted: int) -> float:
    """Tokens that a pass writes if each drafted one is right at this rate, independently.

    Leviathan, Kalman and Matias 2023: (1 - a^(k + 1)) / (1 - a).
    """
    return drafted + 1.0 if rate >= 1 else (1 - rate ** (drafted + 1)) / (1 - rate)


def draw_formula(axes: Axes, title: str, steps: Sequence[Step]) -> None:
    """What passes wrote by the length of their drafts, beside the formula at the mean rate."""
    written: defaultdict[int, list[int]] = defaultdict(list)
    for step in steps:
        written[step.drafted].append(step.accepted + 1)
    judged = sum(min(step.accepted + 1, step.drafted) for step in steps)
    if judged:
        rate = sum(step.accepted for step in steps) / judged
        lengths = range(max(written) + 1)
        axes.plot(
            lengths,
            [expected_tokens(rate, k) for k in lengths],
            color=_BOUND,
            label=f"(1 - a^(k+1)) / (1 - a), a = {rate:.3f}",
        )
        places = sorted(written)
        sizes = [4 + 2 * len(written[k]) ** 0.5 for k in places]
        axes.scatter(
            places,
            [mean(written[k]) for k in places],
            sizes,
            color=_OURS,
            label="measured, copydraft",
        )
        axes.legend(frameon=False)
    axes.set_xlabel("tokens drafted, k")
    axes.set_title(title, loc="left")
    axes.grid(lw=0.4)


def draw_replay(result: Mapping[str, Any], path: Path) -> None:
    """Draw the speedups that a replay found (its JSON), one field for each curve.

    Raises:
        DiskProblem: the file cannot be written.
    """
    drafters = result["drafters"]
    curves = list(dict.fromkeys(name for of in drafters.values() for name in of["curves"]))
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(4.5 * len(curves), 1 + 0.22 * len(drafters)))
        fields = figure.subplots(1, len(curves), squeeze=False)[0]
        for axes, curve in zip(fields, curves, strict=True):
            values = {name: of["curves"][curve]["speedup"] for name, of in drafters.items()}
            draw_speedups(axes, f"replay, {curve}", {n: (v, v, v) for n, v in values.items()})
        _save(figure, path)


def draw_formats(rows: Sequence[Row], path: Path) -> None:
    """Draw tokens per pass by format (an ablation's rows on its first curve), raw beside emission.

    Raises:
        DiskProblem: the file cannot be written.
    """
    mine = [row for row in rows if row.curve == rows[0].curve]
    formats = list(dict.fromkeys(row.format for row in mine))
    bars = [("raw", CORPORA[-1]), *(("emission", corpora) for corpora in CORPORA)]
    names = ["text as in files, all corpora", "text as printed: session"]
    names += [f"text as printed: + {corpora}" for corpora in CORPORA[1:]]
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7, 2.6))
        axes = figure.subplots()
        width = 0.8 / len(bars)
        for number, (bar, name, colour) in enumerate(zip(bars, names, _SHADES, strict=True)):
            values = [
                row.tokens_per_pass
                for of in formats
                for row in mine
                if (row.format, row.text, row.corpora) == (of, *bar)
            ]
            places = [place + number * width for place in range(len(formats))]
            drawn = axes.bar(places, values, width, color=colour, label=name)
            axes.bar_label(drawn, fmt="%.1f", fontsize=6)
        middle = width * (len(bars) - 1) / 2
        axes.set_xticks([place + middle for place in range(len(formats))], formats)
        axes.set_ylabel("tokens per pass")
        axes.legend(frameon=False, fontsize=7)
        _save(figure, path)


def _steps(rows: Rows, kind: str) -> list[Step]:
    mine = [row for row in of_kind(rows.values(), kind) if row.arm == "copydraft"]
    return [step for row in mine for step in row.steps if step.drafted]


def _speeds(arms: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
    return {
        name: (of["speedup"]["median"], of["speedup"]["least"], of["speedup"]["most"])
        for name, of in arms.items()
        if name != PLAIN
    }


def _colour(name: str) -> str:
    if name in ("copydraft", "strict"):
        return _OURS
    return _BOUND if name == "oracle" else _OTHERS


def _label(low: int, high: int | None) -> str:
    if high is None:
        return f"{low}+"
    return str(low) if low == high else f"{low}-{high}"


def _save(figure: Figure, path: Path) -> None:
    figure.tight_layout()
    try:
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": "copydraft"})
    except OSError as error:
        raise DiskProblem(
            f"cannot write {path}: {error.strerror}", "name another --plot"
        ) from error
