"""Replay counts passes and prices them by the curve; its commands print what it found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from copydraft.errors import BadRequest, FileProblem
from copydraft.evaluation.commands import replay_command
from copydraft.evaluation.curves import curve
from copydraft.evaluation.drafters import DRAFTERS, Entry, MakeDrafter
from copydraft.evaluation.replay import replay, run
from copydraft.evaluation.report import as_json
from copydraft.tokens import Draft
from copydraft.traces import Source, Trace

TRACE = Trace(kind="edit", prompt=[0], output=[1, 2, 3, 4, 5, 6])
CURVES = {"dear": [1.0, 2.0, 3.0, 4.5], "free": [1.0, 1.0, 1.0, 1.0]}


class Scripted:
    """Proposes these drafts, one after the other."""

    def __init__(self, *drafts: list[int]) -> None:
        self._drafts = iter(drafts)
        self.limits: list[int] = []
        self.taken: list[tuple[list[int], int]] = []

    def propose(self, limit: int) -> Draft:
        self.limits.append(limit)
        return Draft(next(self._drafts), "region", "a.py")

    def written(self, tokens: Sequence[int], accepted: int) -> None:
        self.taken.append((list(tokens), accepted))


def scripted() -> Scripted:
    return Scripted([1, 2, 9], [], [5, 6, 7])


def nothing() -> None:
    pass


def test_passes_tokens_and_drafts_are_counted() -> None:
    tally = run([TRACE], lambda _: scripted(), CURVES, nothing)["edit"]
    assert (tally.tokens, tally.passes, tally.undrafted) == (6, 3, 1)
    assert (tally.drafted, tally.accepted) == ({"region": 6}, {"region": 4})


def test_a_pass_costs_what_the_curve_says_for_its_width() -> None:
    tally = run([TRACE], lambda _: scripted(), CURVES, nothing)["edit"]
    assert tally.cost == {"dear": 4.5 + 1.0 + 4.5, "free": 3.0}


def test_the_drafter_takes_in_the_accepted_tokens_and_the_models_own() -> None:
    drafter = scripted()
    run([TRACE], lambda _: drafter, CURVES, nothing)
    assert drafter.taken == [([1, 2, 3], 2), ([4], 0), ([5, 6], 2)]


def test_a_draft_may_be_one_token_shorter_than_the_widest_pass() -> None:
    drafter = scripted()
    run([TRACE], lambda _: drafter, CURVES, nothing)
    assert drafter.limits == [3, 3, 3]


def test_kinds_are_counted_apart() -> None:
    explain = Trace(kind="explain", prompt=[0], output=[1, 2, 3])
    tallies = run([TRACE, explain], lambda _: Scripted(*[[]] * 6), CURVES, nothing)
    assert {kind: tally.passes for kind, tally in tallies.items()} == {"edit": 6, "explain": 3}


def counted(runs: list[Sequence[float]], *, by_cost: bool) -> Entry:
    """An entry that notes the costs that each run is begun with."""

    def start(costs: Sequence[float]) -> MakeDrafter:
        runs.append(costs)
        return lambda _: scripted()

    return Entry(start, by_cost=by_cost)


def test_drafters_that_ignore_costs_run_once_for_all_curves() -> None:
    runs: list[Sequence[float]] = []
    results = replay([TRACE], counted(runs, by_cost=False), CURVES, nothing)
    assert (runs, list(results)) == ([CURVES["dear"]], ["dear", "free"])


def test_drafters_that_go_by_costs_run_once_for_each_curve() -> None:
    runs: list[Sequence[float]] = []
    results = replay([TRACE], counted(runs, by_cost=True), CURVES, nothing)
    assert runs == [CURVES["dear"], CURVES["free"]]
    assert results["free"]["edit"].cost == {"free": 3.0}


@pytest.mark.parametrize("name", DRAFTERS)
def test_every_drafter_replays_to_the_end(name: str) -> None:
    prompt = [*range(40), *range(80), 5, 6]
    output = [7, 8, 9, 30, 31, 32, *range(80), 99]
    top8 = [[token] for token in output[1:]]
    region = Source("region", "a.py", "text", list(range(80)))
    trace = Trace(kind="edit", prompt=prompt, output=output, documents=[region], top8=top8)
    curves = {name: curve(name, 64) for name in ("flat", "cpu")}
    for by_kind in replay([trace, trace], DRAFTERS[name], curves, nothing).values():
        assert by_kind["edit"].tokens == 2 * len(output)
        assert by_kind["edit"].passes < 2 * len(output)


def test_the_report_has_tokens_per_pass_and_speedup_by_curve() -> None:
    results = {"ours": replay([TRACE], Entry(lambda _: lambda _: scripted()), CURVES, nothing)}
    report = as_json([TRACE], results)
    assert (report["tasks"], report["tokens"]) == (1, 6)
    dear = report["drafters"]["ours"]["curves"]["dear"]
    assert (dear["passes"], dear["tokens_per_pass"], dear["speedup"]) == (3, 2.0, 0.6)
    assert dear["undrafted"] == pytest.approx(1 / 3)
    assert dear["sources"] == {"region": {"drafted": 6, "accepted": 4}}
    assert dear["kinds"]["edit"]["passes"] == 3
    assert report["drafters"]["ours"]["acceptance_rate"] == pytest.approx(4 / 6)
    assert list(report["drafters"]["ours"]["draft_us"]) == ["p50", "p99"]


# --- curves ---------------------------------------------------------------------------------


def test_flat_costs_a_little_for_each_drafted_token() -> None:
    assert curve("flat", 3) == [1.0, 1.012, 1.024]


def test_cpu_is_interpolated_between_measured_widths() -> None:
    costs = curve("cpu", 64)
    assert [costs[0], costs[1], costs[63]] == [1.0, 1.59, 13.5]
    assert costs[2] == pytest.approx((1.59 + 2.01) / 2)


def test_a_measured_curve_is_read_as_a_calibration_in_json(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text('{"ms": {"1": 20.0, "3": 30.0}, "tie_threshold": 0.5}')
    assert curve(str(path), 3) == [1.0, 1.25, 1.5]


@pytest.mark.parametrize("text", ["", "[]", '{"ms": {}}', '{"ms": {"2": 3.0}}', '{"ms": {"1": 0}}'])
def test_a_file_that_is_no_curve_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "card.json"
    path.write_text(text)
    with pytest.raises(BadRequest, match="not a cost curve"):
        curve(str(path), 3)


def test_a_missing_curve_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match=r"missing\.json"):
        curve(str(tmp_path / "missing.json"), 3)


# --- the command ----------------------------------------------------------------------------


def recorded(tmp_path: Path) -> str:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(msgspec.json.encode(TRACE))
    return str(path)


def test_the_command_prints_one_json_object(tmp_path: Path) -> None:
    options = ["--drafters", "oracle,ngram-simple", "--cost", "flat", "--json"]
    result = CliRunner().invoke(replay_command, [recorded(tmp_path), *options])
    assert result.stderr == ""
    report = json.loads(result.stdout)
    assert (report["tasks"], report["tokens"]) == (1, 6)
    assert list(report["drafters"]) == ["oracle", "ngram-simple"]
    assert report["drafters"]["oracle"]["curves"]["flat"]["passes"] == 1


def test_the_command_prints_tables(tmp_path: Path) -> None:
    result = CliRunner().invoke(replay_command, [recorded(tmp_path), "--drafters", "oracle"])
    assert result.stdout.startswith("edit")
    assert "oracle" in result.stdout


def test_token_recycling_is_left_out_where_no_trace_has_the_top_8(tmp_path: Path) -> None:
    options = ["--drafters", "token-recycling,oracle", "--json"]
    result = CliRunner().invoke(replay_command, [recorded(tmp_path), *options])
    assert list(json.loads(result.stdout)["drafters"]) == ["oracle"]
    assert "token-recycling is left out" in result.stderr


def test_an_unknown_drafter_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(replay_command, [recorded(tmp_path), "--drafters", "magic"])
    assert isinstance(result.exception, BadRequest)
    assert "'magic'" in result.exception.message
