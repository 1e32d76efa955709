"""Learn profiles from traces: where the drafting of a kind of request begins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from copydraft.drafting.drafter import CopyDrafter
from copydraft.drafting.policy import Experience, Policy
from copydraft.drafting.profile import Profile, Profiles
from copydraft.evaluation.drafters import SearchOf, copydraft, no_search
from copydraft.evaluation.replay import Curves, Tally, passes, run
from copydraft.serving.learned import EarlierAnswers
from copydraft.traces import Trace

_ROUNDS = 3
"""Times that all traces are replayed; weights are averaged over the last round (Polyak)."""

_LOW_CAP = 8
_NOVEL = 0.5
"""Where there are more passes than this for each token, most text is new: the rare long draft is
mostly wrong, and begins low."""


def learn(
    traces: Sequence[Trace],
    curves: Curves,
    step: Callable[[], object],
    search_of: SearchOf = no_search,
) -> Profiles:
    """A profile for each kind of request in `traces`; `step` follows each replay of a trace."""
    kinds = dict.fromkeys(trace.kind for trace in traces)
    return {
        kind: _learn([trace for trace in traces if trace.kind == kind], curves, step, search_of)
        for kind in kinds
    }


def speedup(traces: Sequence[Trace], costs: Sequence[float], profiles: Profiles) -> float:
    """Tokens for the time of a pass of width 1, over all traces; missing profiles are shipped."""
    tallies = run(traces, copydraft(costs, profiles), {"": costs}, lambda: None).values()
    return sum(tally.tokens for tally in tallies) / sum(tally.cost[""] for tally in tallies)


def leave_one_out(
    traces: Sequence[Trace],
    curves: Curves,
    step: Callable[[], object],
    search_of: SearchOf = no_search,
) -> dict[str, Tally]:
    """By curve: each repository drafted with profiles that were learned on the others."""
    tallies = {name: Tally() for name in curves}
    for repo in dict.fromkeys(trace.repo for trace in traces):
        others = [trace for trace in traces if trace.repo != repo]
        # A kind that no other repository has begins with nothing: what is shipped knows this one.
        unknown = {trace.kind: Profile() for trace in traces}
        profiles = unknown | learn(others, curves, step, search_of)
        own = [trace for trace in traces if trace.repo == repo]
        for name, costs in curves.items():
            make = copydraft(costs, profiles, search_of)
            for tally in run(own, make, {name: costs}, step).values():
                tallies[name].merge(tally)
    return tallies


def rounds(curves: Curves) -> int:
    """How often `learn` replays each trace."""
    return _ROUNDS * len(curves)


def _learn(
    traces: Sequence[Trace], curves: Curves, step: Callable[[], object], search_of: SearchOf
) -> Profile:
    profile = Profile()
    sums: defaultdict[str, float] = defaultdict(float)
    for number in range(_ROUNDS):
        earlier = EarlierAnswers()
        for trace in traces:
            for costs in curves.values():
                experience = Experience(profile, costs)
                documents = [*earlier.of(trace.repo), *trace.sources()]
                policy = Policy(experience)
                drafter = CopyDrafter(
                    documents, policy, search_of(trace), quotations=trace.quotations
                )
                for _ in passes(trace, drafter, len(costs) - 1):
                    pass
                profile = experience.profile()
                step()
            earlier.add(trace.repo, "", trace.output)
            if number == _ROUNDS - 1:
                for name, weight in profile.weights.items():
                    sums[name] += weight / len(traces)
    weights = {name: round(weight, 3) for name, weight in sorted(sums.items())}
    return Profile(
        weights=weights,
        passes=round(profile.passes, 3),
        drafted=round(profile.drafted, 3),
        cap=_LOW_CAP if profile.passes > _NOVEL else Profile().cap,
    )
