"""Drafters by name, as replay runs them: ours, the peers', and the one that knows the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from copydraft.drafting.corpus import CorpusSearch
from copydraft.drafting.drafter import CopyDrafter
from copydraft.drafting.policy import Experience, Policy
from copydraft.drafting.profile import Profiles, profile_of
from copydraft.evaluation.baselines.ngram_map import NgramMapK
from copydraft.evaluation.baselines.ngram_mod import ModTable, NgramMod
from copydraft.evaluation.baselines.ngram_simple import NgramSimple
from copydraft.evaluation.baselines.oracle import Oracle
from copydraft.evaluation.baselines.prompt_lookup import PromptLookup
from copydraft.evaluation.baselines.sam_decoding import EarlierOutputs, SamDecoding
from copydraft.evaluation.baselines.suffix_decoding import SuffixDecoding, SuffixTree
from copydraft.evaluation.baselines.token_recycling import Matrix, TokenRecycling
from copydraft.evaluation.baselines.tree import TreeDraft
from copydraft.serving.learned import EarlierAnswers
from copydraft.tokens import Draft
from copydraft.traces import Trace

_RECYCLED_NODES = 12


class Replayed(Protocol):
    """A `drafting.drafter.Drafter` that may also propose trees."""

    def propose(self, limit: int) -> Draft | TreeDraft: ...
    def written(self, tokens: Sequence[int], accepted: int) -> None: ...


MakeDrafter = Callable[[Trace], Replayed]
"""A drafter for each trace of one run; what it may keep from trace to trace is in the closure."""


SearchOf = Callable[[Trace], CorpusSearch | None]
"""What there was to draft from besides the session, if it is known."""


def no_search(_: Trace) -> None:
    """For traces of which the session is all that is known."""


class Entry(NamedTuple):
    """How a run begins, given the costs of passes by width (index 0 for width 1)."""

    start: Callable[[Sequence[float]], MakeDrafter]
    by_cost: bool = False
    """The drafts depend on the costs: each curve needs a run of its own."""
    needs_top8: bool = False


def copydraft(
    costs: Sequence[float], profiles: Profiles | None = None, search_of: SearchOf = no_search
) -> MakeDrafter:
    """Ours, as the daemon runs it; with `profiles` in place of those that are shipped."""
    experience: dict[str, Experience] = {}
    earlier = EarlierAnswers()

    def make(trace: Trace) -> Replayed:
        kind = trace.kind
        if kind not in experience:
            experience[kind] = Experience(profile_of(kind, profiles or {}), costs)
        documents = [*earlier.of(trace.repo), *trace.sources()]
        # As in the daemon, where the repository is the workspace. Nothing of this answer is
        # drafted from before the next trace.
        earlier.add(trace.repo, "", trace.output)
        return CopyDrafter(
            documents,
            Policy(experience[kind]),
            search_of(trace),
            quotations=trace.quotations,
        )

    return make


def _prompt_lookup(_: Sequence[float]) -> MakeDrafter:
    return lambda trace: PromptLookup(trace.prompt, longest=3)


def _prompt_lookup_recent(_: Sequence[float]) -> MakeDrafter:
    return lambda trace: PromptLookup(trace.prompt, longest=3, recent=True)


def _llama_cpp_python(_: Sequence[float]) -> MakeDrafter:
    return lambda trace: PromptLookup(trace.prompt, longest=2)


def _ngram_simple(_: Sequence[float]) -> MakeDrafter:
    return lambda trace: NgramSimple(trace.prompt)


def _ngram_map_k(_: Sequence[float]) -> MakeDrafter:
    return lambda trace: NgramMapK(trace.prompt)


def _ngram_mod(_: Sequence[float]) -> MakeDrafter:
    table = ModTable()
    return lambda trace: NgramMod(trace.prompt, table)


def _suffix_decoding(_: Sequence[float]) -> MakeDrafter:
    shared = SuffixTree()
    return lambda trace: SuffixDecoding(trace.prompt, shared)


def _suffix_decoding_best(_: Sequence[float]) -> MakeDrafter:
    # Of factors 1 to 16 and least probabilities 0.1 to 0.5, the fastest on the development edits
    # where wide passes cost little.
    shared = SuffixTree()
    return lambda trace: SuffixDecoding(trace.prompt, shared, factor=4.0)


def _sam_decoding(_: Sequence[float]) -> MakeDrafter:
    earlier = EarlierOutputs()
    return lambda trace: SamDecoding(trace.prompt, earlier)


def _token_recycling(_: Sequence[float]) -> MakeDrafter:
    matrix: Matrix = {}
    return lambda trace: TokenRecycling(trace.prompt[-1], trace.top8, matrix, nodes=_RECYCLED_NODES)


def _oracle(costs: Sequence[float]) -> MakeDrafter:
    return lambda trace: Oracle(trace.output, costs)


DRAFTERS = {
    "copydraft": Entry(copydraft, by_cost=True),
    "prompt-lookup": Entry(_prompt_lookup),
    "prompt-lookup-recent": Entry(_prompt_lookup_recent),
    "llama-cpp-python": Entry(_llama_cpp_python),
    "ngram-simple": Entry(_ngram_simple),
    "ngram-map-k": Entry(_ngram_map_k),
    "ngram-mod": Entry(_ngram_mod),
    "suffix-decoding": Entry(_suffix_decoding),
    "suffix-decoding-best": Entry(_suffix_decoding_best),
    "sam-decoding": Entry(_sam_decoding),
    "token-recycling": Entry(_token_recycling, needs_top8=True),
    "oracle": Entry(_oracle, by_cost=True),
}
