"""The peers' rules on short texts, drafts written out."""

from __future__ import annotations

from copydraft.evaluation.baselines.ngram_map import NgramMapK
from copydraft.evaluation.baselines.ngram_mod import ModTable, NgramMod
from copydraft.evaluation.baselines.ngram_simple import NgramSimple
from copydraft.evaluation.baselines.oracle import Oracle
from copydraft.evaluation.baselines.prompt_lookup import PromptLookup
from copydraft.evaluation.baselines.sam_decoding import EarlierOutputs, SamDecoding
from copydraft.evaluation.baselines.suffix_decoding import SuffixDecoding, SuffixTree
from copydraft.evaluation.baselines.token_recycling import Matrix, TokenRecycling, static_tree
from copydraft.evaluation.baselines.tree import TreeDraft, accepted_length
from copydraft.evaluation.drafters import Replayed
from copydraft.tokens import NO_DRAFT, Draft


def drafted(drafter: Replayed, limit: int = 63) -> list[int]:
    return list(drafter.propose(limit).tokens)


# --- prompt lookup --------------------------------------------------------------------------


def test_prompt_lookup_copies_from_the_first_match() -> None:
    assert drafted(PromptLookup([1, 2, 3, 9, 1, 2, 4, 1, 2], longest=3)) == [3, 9, 1, 2, 4, 1, 2]


def test_recent_prompt_lookup_copies_from_the_last_match() -> None:
    prompt = [1, 2, 3, 9, 1, 2, 4, 1, 2]
    assert drafted(PromptLookup(prompt, longest=3, recent=True)) == [4, 1, 2]


def test_prompt_lookup_prefers_the_longer_ngram() -> None:
    assert drafted(PromptLookup([2, 8, 8, 8, 1, 2, 5, 1, 2], longest=2))[0] == 5


def test_prompt_lookup_drafts_ten_tokens() -> None:
    prompt = [*range(20), 0]
    assert drafted(PromptLookup(prompt, longest=3)) == list(range(1, 11))


def test_prompt_lookup_keeps_to_the_limit() -> None:
    assert drafted(PromptLookup([1, 2, 3, 4, 1], longest=3), limit=2) == [2, 3]


def test_prompt_lookup_sees_runs_of_one_token() -> None:
    assert drafted(PromptLookup([7, 7, 7], longest=3)) == [7]


def test_prompt_lookup_matches_across_prompt_and_output() -> None:
    drafter = PromptLookup([1, 2], longest=2)
    drafter.written([3, 4, 2], 0)
    drafter.written([3], 0)
    assert drafted(drafter) == [4, 2, 3]


def test_prompt_lookup_without_a_match_drafts_nothing() -> None:
    assert PromptLookup([1, 2, 3], longest=3).propose(8) == NO_DRAFT


# --- llama.cpp ------------------------------------------------------------------------------


def test_ngram_simple_copies_up_to_its_length() -> None:
    prompt = [0, 5, 6, 1, 2, 3, 4, 8, 5, 6]
    assert drafted(NgramSimple(prompt, key=2, length=4)) == [1, 2, 3, 4]


def test_ngram_simple_ignores_a_match_at_the_very_start() -> None:
    prompt = [5, 6, 1, 2, 3, 4, 8, 9, 5, 6]
    assert drafted(NgramSimple(prompt, key=2, length=4)) == []


def test_ngram_simple_knows_only_the_latest_match() -> None:
    # One token follows the latest (5, 6), and fewer than a key's length are not drafted.
    prompt = [0, 5, 6, 1, 2, 3, 4, 8, 5, 6, 5, 6]
    assert drafted(NgramSimple(prompt, key=2, length=4)) == []


def test_ngram_simple_needs_a_text_longer_than_key_and_draft() -> None:
    prompt = [0, 5, 6, 1, 2, 3, 5, 6]
    assert drafted(NgramSimple(prompt, key=2, length=4)) == []


def test_ngram_map_copies_from_the_place_entered_first() -> None:
    drafter = NgramMapK([0, 5, 6, 1, 2, 3, 4, 7, 8, 9, 5, 6], key=2, length=3)
    assert drafted(drafter) == [1, 2, 3]


def test_ngram_map_drafts_no_more_than_was_accepted_last() -> None:
    drafter = NgramMapK([0, 5, 6, 1, 2, 3, 4, 7, 8, 9, 5, 6], key=2, length=3)
    drafted(drafter)
    drafter.written([1, 5, 6], accepted=1)
    assert drafted(drafter) == [1]


def test_ngram_map_gives_up_on_a_refused_ngram() -> None:
    drafter = NgramMapK([0, 5, 6, 1, 2, 3, 4, 7, 8, 9, 5, 6], key=2, length=3)
    drafted(drafter)
    drafter.written([5, 6], accepted=0)
    assert drafted(drafter) == []


def test_ngram_map_never_enters_the_end_of_the_prompt() -> None:
    # (5, 6) begins five tokens before the prompt's end: key + length tokens and no more.
    drafter = NgramMapK([0, 9, 9, 9, 9, 9, 9, 5, 6, 1, 2, 3], key=2, length=3)
    drafter.written([8, 8, 8, 8, 8, 8, 8, 5, 6], 0)
    assert drafted(drafter) == []


def test_ngram_mod_follows_its_table() -> None:
    drafter = NgramMod([1, 2, 3, 4, 5, 1, 2], ModTable(key=2), least=2, most=3)
    assert drafted(drafter) == [3, 4, 5]


def test_ngram_mod_drops_short_drafts() -> None:
    drafter = NgramMod([1, 2, 3, 4, 5], ModTable(key=2), least=4, most=4)
    drafter.written([1, 2], 0)
    assert drafted(drafter) == []


def test_ngram_mod_shares_its_table_between_requests() -> None:
    table = ModTable(key=2)
    NgramMod([1, 2, 3, 4, 5], table, least=2, most=3)
    assert drafted(NgramMod([9, 1, 2], table, least=2, most=3)) == [3, 4, 5]


def test_ngram_mod_enters_output_in_chunks() -> None:
    drafter = NgramMod([7, 7], ModTable(key=2), least=1, most=2)
    drafter.written([*range(100, 131), 100, 101], 0)
    assert drafted(drafter) == [102, 103]
    drafter.written([200, 201, 200, 201], 0)
    assert drafted(drafter) == []


def test_ngram_mod_empties_its_table_after_five_bad_drafts() -> None:
    drafter = NgramMod([1, 2, 3, 4, 5, 1, 2], ModTable(key=2), least=2, most=4)
    for _ in range(5):
        assert drafted(drafter)[:2] == [3, 4]
        drafter.written([9, 1, 2], accepted=0)
    assert drafted(drafter) == []


# --- SuffixDecoding -------------------------------------------------------------------------


def test_suffix_decoding_drafts_as_many_tokens_as_matched() -> None:
    drafter = SuffixDecoding([1, 2, 3, 4, 5, 6, 7, 1, 2, 3], SuffixTree())
    assert drafted(drafter) == [4, 5, 6]


def test_suffix_decoding_drafts_its_factor_times_the_match() -> None:
    drafter = SuffixDecoding([1, 2, 3, 4, 5, 6, 7, 8, 1, 2], SuffixTree(), factor=3)
    assert drafted(drafter) == [3, 4, 5, 6, 7, 8]


def test_suffix_decoding_follows_the_majority() -> None:
    drafter = SuffixDecoding([1, 8, 2, 1, 9, 3, 1, 8, 4, 1], SuffixTree())
    assert drafted(drafter) == [8]


def test_suffix_decoding_stops_where_the_path_gets_unlikely() -> None:
    # 1 occurs four times, the open end included: each continuation has probability 1/4.
    prompt = [1, 5, 1, 6, 1, 7, 1]
    assert drafted(SuffixDecoding(prompt, SuffixTree(), least=0.2)) == [7]
    assert drafted(SuffixDecoding(prompt, SuffixTree(), least=0.3)) == []


def test_suffix_decoding_knows_the_outputs_of_earlier_requests() -> None:
    shared = SuffixTree()
    SuffixDecoding([9], shared).written([1, 2, 3, 4, 5, 6], 0)
    drafter = SuffixDecoding([8, 1, 2, 3], shared)
    assert drafter.propose(63) == Draft([4, 5, 6], "global", "")


def test_suffix_decoding_keeps_the_outputs_of_requests_apart() -> None:
    shared = SuffixTree()
    SuffixDecoding([9], shared).written([1, 2], 0)
    SuffixDecoding([9], shared).written([3, 4], 0)
    assert drafted(SuffixDecoding([8, 1, 2], shared)) == []


# --- SAM-Decoding ---------------------------------------------------------------------------


def test_sam_decoding_drafts_one_and_four_times_the_match() -> None:
    drafter = SamDecoding([1, *range(10, 30), 1], EarlierOutputs())
    assert drafted(drafter) == [10, 11, 12, 13, 14]


def test_sam_decoding_copies_from_the_first_place() -> None:
    drafter = SamDecoding([1, 2, 5, 1, 2, 6, 1, 2], EarlierOutputs())
    assert drafted(drafter)[0] == 5


def test_sam_decoding_takes_earlier_outputs_for_much_longer_matches_only() -> None:
    earlier = EarlierOutputs()
    SamDecoding([50], earlier).written([1, 2, 3, 4, 5, 6, 7], 0)
    assert drafted(SamDecoding([50, 1, 2, 3, 4, 5], earlier)) == []
    assert drafted(SamDecoding([50, 1, 2, 3, 4, 5, 6], earlier)) == [7]


# --- Token Recycling, the answer known, trees -----------------------------------------------


def test_the_static_tree_holds_the_likeliest_paths() -> None:
    assert static_tree(4) == [(0,), (0, 0), (1,), (0, 0, 0)]


def test_token_recycling_fills_the_tree_from_its_matrix() -> None:
    matrix: Matrix = {1: [2, 3], 2: [4]}
    drafter = TokenRecycling(1, [], matrix, nodes=3)
    assert drafter.propose(63) == TreeDraft([2, 4, 3], [-1, 0, -1], "recycled", "")


def test_token_recycling_learns_what_the_model_held_likely() -> None:
    matrix: Matrix = {}
    drafter = TokenRecycling(1, [[6, 7], [8, 9]], matrix, nodes=1)
    drafter.written([5, 6, 5], 0)
    assert drafted(drafter) == [6]


def test_token_recycling_does_not_know_the_next_token_beforehand() -> None:
    drafter = TokenRecycling(1, [[6, 7], [8, 9]], {}, nodes=1)
    drafter.written([5], 0)
    assert drafter.propose(63) == NO_DRAFT


def test_the_oracle_cuts_the_answer_into_the_cheapest_passes() -> None:
    oracle = Oracle([1, 2, 3, 4, 5], costs=[1.0, 1.1, 1.2, 9.0])
    assert drafted(oracle) == [1]
    oracle.written([1, 2], 1)
    assert drafted(oracle) == [3, 4]


def test_the_oracle_falls_silent_when_the_answer_becomes_another() -> None:
    oracle = Oracle([1, 2, 3, 4, 5], costs=[1.0, 1.1, 1.2])
    oracle.written([1, 9], 0)
    assert oracle.propose(8) == NO_DRAFT


def test_a_chain_is_accepted_as_far_as_it_is_right() -> None:
    assert accepted_length(Draft([1, 2, 9, 4], "", ""), [1, 2, 3, 4]) == 2
    assert accepted_length(Draft([1, 2], "", ""), [1]) == 1


def test_of_a_tree_the_branch_that_is_right_is_accepted() -> None:
    tree = TreeDraft([1, 2, 3, 4], [-1, -1, 1, 2], "", "")
    assert accepted_length(tree, [2, 3, 4, 5]) == 3
    assert accepted_length(tree, [1, 3]) == 1
    assert accepted_length(tree, [7]) == 0
