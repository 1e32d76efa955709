"""The peers' drafts equal those of their rules, carried out without any index."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.evaluation.baselines import suffix_decoding
from copydraft.evaluation.baselines.ngram_mod import ModTable
from copydraft.evaluation.baselines.ngram_simple import NgramSimple
from copydraft.evaluation.baselines.oracle import Oracle
from copydraft.evaluation.baselines.prompt_lookup import PromptLookup
from copydraft.evaluation.baselines.sam_decoding import SuffixAutomaton
from copydraft.evaluation.baselines.suffix_decoding import SuffixTree
from copydraft.evaluation.drafters import Replayed
from copydraft.evaluation.replay import passes
from copydraft.traces import Trace

texts = st.lists(st.integers(1, 3), min_size=1, max_size=40)


def fed(drafter: Replayed, text: Sequence[int], steps: Sequence[int]) -> Replayed:
    """Give the text to the drafter in steps of these lengths."""
    at = 0
    for step in steps:
        if at < len(text):
            drafter.written(text[at : at + step], 0)
            at += step
    drafter.written(text[at:], 0)
    return drafter


def looked_up(text: Sequence[int], longest: int, *, recent: bool) -> Sequence[int]:
    for n in range(min(longest, len(text) - 1), 0, -1):
        starts = range(len(text) - n)
        for start in reversed(starts) if recent else starts:
            if text[start : start + n] == text[-n:]:
                return text[start + n : start + n + 10]
    return []


@given(texts, texts, st.lists(st.integers(1, 5)), st.integers(1, 3), st.booleans())
def test_prompt_lookup_equals_a_scan(
    prompt: list[int], output: list[int], steps: list[int], longest: int, recent: bool
) -> None:
    drafter = fed(PromptLookup(prompt, longest=longest, recent=recent), output, steps)
    assert list(drafter.propose(63).tokens) == looked_up(prompt + output, longest, recent=recent)


def simple(history: Sequence[int], last: int, key: int, length: int) -> Sequence[int]:
    if len(history) <= key + length + 1:
        return []
    pattern = [*history, last][-key:]
    for start in range(len(history) - key - 1, 0, -1):
        if list(history[start : start + key]) == pattern:
            draft = history[start + key : start + key + length]
            return draft if len(draft) >= key else []
    return []


@given(texts, texts, st.lists(st.integers(1, 5)), st.integers(1, 3), st.integers(1, 6))
def test_ngram_simple_equals_a_scan(
    prompt: list[int], output: list[int], steps: list[int], key: int, length: int
) -> None:
    drafter = fed(NgramSimple(prompt, key=key, length=length), output, steps)
    text = prompt + output
    assert list(drafter.propose(63).tokens) == simple(text[:-1], text[-1], key, length)


@given(st.lists(st.lists(st.integers(0, 150_000), min_size=1, max_size=30)), texts)
def test_the_mod_table_holds_the_latest_next_tokens(parts: list[list[int]], end: list[int]) -> None:
    table, known = ModTable(key=3), {}
    for part in [*parts, end]:
        table.enter(part)
        for at in range(len(part) - 3):
            known[tuple(part[at : at + 3])] = part[at + 3]
    window = [1, 2, 3, *end][-3:]
    while len(window) < 11 and tuple(window[-3:]) in known:
        window.append(known[tuple(window[-3:])])
    assert table.follow([1, 2, 3, *end], 8) == window[3:]


def speculated(
    sequences: Sequence[list[int]], context: list[int], most: int, factor: float, depth: int
) -> tuple[float, list[int]]:
    """SuffixDecoding's rule by counting; of equally frequent tokens the latest."""

    def places(string: list[int]) -> list[tuple[int, int]]:
        return [
            (number, start)
            for number, text in enumerate(sequences)
            for start in range(len(text) - len(string) + 1)
            if text[start : start + len(string)] == string
        ]

    best: tuple[float, list[int]] = (0.0, [])
    for length in range(1, len(context)):
        string = context[-length:]
        if not places(string):
            break
        tokens: list[int] = []
        probability, score = 1.0, 0.0
        while len(tokens) < min(most, int(length * factor)) and len(string) < depth:
            found = {token: places([*string, token]) for token in range(1, 4)}
            token = max(found, key=lambda t: (len(found[t]), max(found[t], default=(-1, -1))))
            probability *= len(found[token]) / len(places(string))
            if probability < 0.1:
                break
            string, tokens = [*string, token], [*tokens, token]
            score += probability
        if score >= best[0]:
            best = (score, tokens)
    return best


@given(st.lists(texts, min_size=1, max_size=4), st.integers(1, 8), st.sampled_from([0.5, 1, 2, 4]))
def test_suffix_decoding_equals_counting(
    sequences: list[list[int]], most: int, factor: float
) -> None:
    depth = 7
    context = sequences[-1][-depth:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suffix_decoding, "DEPTH", depth)
        tree = SuffixTree()
        for sequence in sequences:
            tree.close()
            tree.extend(sequence)
        score, tokens = tree.speculate(context, most, factor, 0.1)
    expected_score, expected = speculated(sequences, context, most, factor, depth)
    assert score == pytest.approx(expected_score)
    assert tokens == expected


@given(texts)
def test_the_automaton_finds_the_longest_earlier_match_and_its_first_place(text: list[int]) -> None:
    automaton = SuffixAutomaton()
    for end, token in enumerate(text, start=1):
        automaton.match(token)
        automaton.add(token)
        length, place = 0, 0
        for candidate in range(1, end):
            suffix = text[end - candidate : end]
            ends = [e for e in range(candidate, end) if text[e - candidate : e] == suffix]
            if ends:
                length, place = candidate, ends[0]
        assert automaton.matched == length
        assert length == 0 or automaton.end == place


@given(texts, texts)
def test_the_automaton_matches_a_text_that_is_not_its_own(
    known: list[int], text: list[int]
) -> None:
    automaton = SuffixAutomaton()
    for token in known:
        automaton.add(token)
    for end, token in enumerate(text, start=1):
        automaton.match(token)
        lengths = [
            length
            for length in range(end + 1)
            for start in range(len(known) - length + 1)
            if known[start : start + length] == text[end - length : end]
        ]
        assert automaton.matched == max(lengths)


@given(st.integers(1, 7), st.lists(st.floats(1, 9), min_size=1, max_size=3))
def test_no_cut_of_the_answer_is_cheaper_than_the_oracles(length: int, rest: list[float]) -> None:
    costs = [1.0, *rest]
    trace = Trace(kind="edit", prompt=[0], output=list(range(length)))
    drafter = Oracle(trace.output, costs)
    cost = sum(costs[done.drafted] for done in passes(trace, drafter, len(costs) - 1))
    cuts = (
        widths
        for count in range(1, length + 1)
        for widths in itertools.product(range(1, len(costs) + 1), repeat=count)
        if sum(widths) == length
    )
    cheapest = min(sum(costs[width - 1] for width in widths) for widths in cuts)
    assert cost == pytest.approx(cheapest)
