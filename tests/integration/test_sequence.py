"""Whole sequences on tiny models of every kind of memory: drafting changes nothing but the time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from copydraft.drafting.drafter import CopyDrafter, Drafter, NoDrafter
from copydraft.drafting.policy import Experience, Policy
from copydraft.drafting.profile import Profile
from copydraft.engine.engine import Engine
from copydraft.errors import Cancelled
from copydraft.protocol import Delta, Event, Prefill, Sampling
from copydraft.serving.sequence import ActiveSequence, Limits, Reader
from copydraft.tokens import Document, Draft

KINDS = ["dense_model", "sliding_window_model", "hybrid_model", "short_conv_model"]
PROMPT = [(7 * i * i + 3 * i) % 250 for i in range(300)]
OTHER = PROMPT[::-1]
GREEDY = Sampling()
TIE = 0.05
"""Above what the logits of these models differ by between widths (0.02 was the most seen)."""


class Endless:
    """A reader that never has enough."""

    hidden = held = 0

    def feed(self, delta: str) -> bool:
        return False


class Unsure(Endless):
    """A reader that hides a beginning until there is enough of it to judge by, and then nothing."""

    def __init__(self) -> None:
        self._length = 0

    def feed(self, delta: str) -> bool:
        self._length += len(delta)
        self.hidden = self._length if self._length < 6 else 0
        return False


class Scripted:
    """A drafter that proposes what it was given, pass by pass."""

    def __init__(self, drafts: Sequence[Sequence[int]]) -> None:
        self._drafts = list(drafts)

    def propose(self, limit: int) -> Draft:
        return Draft(self._drafts.pop(0)[:limit] if self._drafts else (), "region", "a.py")

    def written(self, tokens: Sequence[int], accepted: int) -> None:
        pass


class Run:
    """One sequence, decoded to its end."""

    def __init__(
        self,
        engine: Engine,
        drafter: Drafter,
        *,
        prompt: list[int] = PROMPT,
        tokens: int = 120,
        strict: bool = False,
        tie: float = TIE,
        stops: tuple[str, ...] = (),
        sampling: Sampling = GREEDY,
        reader: Reader | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.events: list[Event] = []
        limits = limits or Limits(tokens, engine.widest_draft(24), tie if strict else 0.0, stops)
        self.sequence = ActiveSequence(
            *(engine, prompt, drafter, engine.picker(sampling), reader or Endless(), limits),
            self.events.append,
        )
        while not self.sequence.stop_reason:
            feed = self.sequence.feed()
            engine.decode([feed])
            self.sequence.take(0, 0.0)
        self.sequence.close()
        self.tokens = self.sequence.output
        self.text = self.sequence.stream.text
        self.stats = self.sequence.meter.stats(
            kind="edit", agent="", model="", device="", draft=True, strict=strict, stop_reason=""
        )


@pytest.fixture(params=KINDS)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    path: Path = request.getfixturevalue(request.param)
    engine = Engine(path, context=1024, threads=1)
    yield engine
    engine.close()


def changed_copy(tokens: list[int]) -> Document:
    """A region that the answer copies with changes: some replaced, some inserted, some deleted."""
    copy = list(tokens)
    for place in range(10, len(copy), 17):
        copy[place] = (copy[place] + 1) % 250
    del copy[40:44]
    copy[70:70] = [1, 2, 3]
    return Document("region", "a.py", "region", copy)


def copying(tokens: list[int]) -> CopyDrafter:
    return CopyDrafter([changed_copy(tokens)], Policy(Experience(Profile(), [1.0] * 25)))


def first_difference(a: list[int], b: list[int]) -> int | None:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y), None)


def test_text_with_drafts_equals_plain_text_up_to_a_near_tie(engine: Engine) -> None:
    plain = Run(engine, NoDrafter())
    drafted = Run(engine, copying(plain.tokens))
    assert drafted.stats.accepted["region"] > 60
    fork = first_difference(plain.tokens, drafted.tokens)
    assert fork is None or plain.sequence.margins[fork] < TIE


def test_strict_text_with_drafts_equals_plain_text(engine: Engine) -> None:
    plain = Run(engine, NoDrafter())
    assert Run(engine, copying(plain.tokens), strict=True).tokens == plain.tokens


def test_a_near_tie_is_settled_by_the_very_logits_of_plain_decoding(engine: Engine) -> None:
    Run(engine, NoDrafter())  # from here on, runs begin with the same tokens in memory
    plain = Run(engine, NoDrafter())
    strict = Run(engine, copying(plain.tokens), strict=True, tie=1e9)
    assert strict.sequence.margins == plain.sequence.margins


def test_strict_mode_decodes_near_ties_alone(engine: Engine) -> None:
    plain = Run(engine, NoDrafter())
    ties = sum(margin < TIE for margin in plain.sequence.margins)
    strict = Run(engine, copying(plain.tokens), strict=True)
    assert (strict.stats.redecoded > 0) == (ties > 0)


def test_sampled_text_with_drafts_equals_plain_text_of_the_same_seed(engine: Engine) -> None:
    sampling = Sampling(temperature=0.9, seed=11)
    plain = Run(engine, NoDrafter(), sampling=sampling)
    drafted = Run(engine, copying(plain.tokens), sampling=sampling)
    assert drafted.stats.accepted["region"] > 60
    fork = first_difference(plain.tokens, drafted.tokens)
    assert fork is None or plain.sequence.margins[fork] < TIE


def test_strict_sampled_text_with_drafts_equals_plain_text_of_the_same_seed(engine: Engine) -> None:
    sampling = Sampling(temperature=0.9, seed=11)
    plain = Run(engine, NoDrafter(), sampling=sampling)
    strict = Run(engine, copying(plain.tokens), strict=True, sampling=sampling)
    assert strict.tokens == plain.tokens
    assert strict.stats.accepted["region"] > 60


def test_other_seeds_give_other_text(engine: Engine) -> None:
    texts = {
        tuple(Run(engine, NoDrafter(), sampling=Sampling(temperature=0.9, seed=seed)).tokens)
        for seed in (1, 2)
    }
    assert len(texts) == 2


def test_wrong_drafts_cost_passes_and_change_nothing(engine: Engine) -> None:
    plain = Run(engine, NoDrafter(), tokens=40)
    never = [token for token in range(250) if token not in plain.tokens][:3]
    wrong = Run(engine, Scripted([never] * 40), tokens=40)
    fork = first_difference(plain.tokens, wrong.tokens)
    assert fork is None or plain.sequence.margins[fork] < TIE
    assert wrong.stats.accepted == {"region": 0}


def test_a_prompt_that_was_read_before_is_not_read_again(engine: Engine) -> None:
    first = Run(engine, NoDrafter(), tokens=4)
    again = Run(engine, NoDrafter(), tokens=4)
    assert first.stats.reused_tokens == 0
    # Recurrent models come back to the last state saved while the prompt was read.
    assert again.stats.reused_tokens >= 256
    assert again.tokens == first.tokens


def test_a_changed_prompt_is_read_from_the_change_on(engine: Engine) -> None:
    other = [*PROMPT[:280], *(5, 6, 7) * 10]
    fresh = Run(engine, NoDrafter(), prompt=other, tokens=20)
    Run(engine, NoDrafter(), tokens=4)
    reused = Run(engine, NoDrafter(), prompt=other, tokens=20)
    assert reused.stats.reused_tokens >= 256
    fork = first_difference(fresh.tokens, reused.tokens)
    assert fork is None or fresh.sequence.margins[fork] < TIE


def test_max_tokens_is_kept_although_the_draft_runs_further(engine: Engine) -> None:
    plain = Run(engine, NoDrafter(), tokens=30)
    drafted = Run(engine, Scripted([plain.tokens]), tokens=10)
    assert len(drafted.tokens) == 10
    assert drafted.sequence.stop_reason == "length"


def test_the_context_ends_a_sequence_without_a_fault(engine: Engine) -> None:
    prompt = [(i * i) % 250 for i in range(1000)]
    run = Run(engine, copying(prompt), prompt=prompt, tokens=500)
    assert run.sequence.stop_reason == "context"
    assert len(prompt) + len(run.tokens) == 1024


def test_accepted_tokens_have_the_margins_of_plain_decoding(engine: Engine) -> None:
    plain = Run(engine, NoDrafter(), tokens=40)
    drafted = Run(engine, Scripted([plain.tokens[:20], plain.tokens[21:]]), tokens=40)
    assert drafted.stats.accepted["region"] > 10
    fork = first_difference(plain.tokens, drafted.tokens) or 40
    expected = plain.sequence.margins[:fork]
    assert drafted.sequence.margins[:fork] == pytest.approx(expected, abs=2 * TIE)


def test_the_reader_sees_no_rejected_token(engine: Engine) -> None:
    plain = Run(engine, NoDrafter(), tokens=20)
    stop, text = next(
        (token, text)
        for token in range(250)
        if (text := engine.model.piece(token).decode(errors="ignore")) and text not in plain.text
    )
    drafts = [[*plain.tokens[:3], stop, stop], [stop], *([[stop, stop]] * 20)]
    run = Run(engine, Scripted(drafts), tokens=20, stops=(text,))
    assert run.sequence.stop_reason == "length"


def test_a_shared_prefix_is_not_changed_by_the_sequence_that_goes_on_from_it(
    engine: Engine,
) -> None:
    first = Run(engine, copying(list(range(100, 220))), tokens=40)
    Run(engine, copying(list(range(120))), prompt=[*PROMPT, 1, 2, 3], tokens=40)
    again = Run(engine, copying(list(range(100, 220))), tokens=40)
    fork = first_difference(first.tokens, again.tokens)
    assert fork is None or first.sequence.margins[fork] < TIE


def test_progress_of_the_prompt_is_told_chunk_by_chunk(engine: Engine) -> None:
    events = Run(engine, NoDrafter(), tokens=1).events
    told = [event for event in events if isinstance(event, Prefill)]
    assert told == [
        Prefill(done=0, total=300, reused=0),
        Prefill(done=256, total=300, reused=0),
        Prefill(done=300, total=300, reused=0),
    ]


def test_deltas_together_are_the_text_and_their_spans_cover_it(engine: Engine) -> None:
    plain = Run(engine, NoDrafter())
    run = Run(engine, copying(plain.tokens))
    deltas = [event for event in run.events if isinstance(event, Delta)]
    assert "".join(delta.text for delta in deltas) == run.text
    for delta in deltas:
        assert delta.spans[0].start == 0
        assert delta.spans[-1].end == len(delta.text)
    copied = sum(s.end - s.start for s in run.sequence.stream.spans if s.corpus == "region")
    assert copied > len(run.text) / 2


def test_a_control_token_that_is_to_stand_in_the_text_does(engine: Engine) -> None:
    first, second, *_ = Run(engine, NoDrafter(), tokens=8).tokens
    limits = Limits(2, 0, spelled={first: b"[CALL]"})
    run = Run(engine, NoDrafter(), limits=limits)
    assert run.tokens == [first, second]
    assert run.text == "[CALL]" + engine.model.piece(second).decode(errors="replace")


def test_what_was_hidden_for_a_while_is_shown_later(engine: Engine) -> None:
    run = Run(engine, NoDrafter(), reader=Unsure())
    deltas = [event for event in run.events if isinstance(event, Delta)]
    assert deltas[0].text == ""
    assert "".join(delta.text for delta in deltas) == run.text


def test_a_draft_behind_a_full_chunk_of_prompt_fits_into_the_pass(engine: Engine) -> None:
    engine.chunk = 512
    prompt = [(i * i) % 250 for i in range(505)]
    region = Document("region", "a.py", "region", prompt)
    run = Run(
        engine,
        CopyDrafter([region], Policy(Experience(Profile(), [1.0] * 25))),
        prompt=prompt,
        tokens=5,
    )
    assert len(run.tokens) == 5


@pytest.mark.parametrize("tokens_before", [0, 10], ids=["in the prompt", "while writing"])
def test_after_an_aborted_pass_the_next_request_is_right(
    engine: Engine, tokens_before: int
) -> None:
    fresh = Run(engine, NoDrafter(), tokens=20)
    engine.memory.clear()
    if tokens_before:
        Run(engine, NoDrafter(), tokens=tokens_before)
    engine.abort()
    with pytest.raises(Cancelled):
        Run(engine, NoDrafter(), prompt=[*PROMPT, 5, 6, 7], tokens=20)
    engine.resume()
    after = Run(engine, NoDrafter(), tokens=20)
    fork = first_difference(fresh.tokens, after.tokens)
    assert fork is None or fresh.sequence.margins[fork] < TIE


def test_an_aborted_pass_is_no_fault_in_the_log(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.abort()
    with pytest.raises(Cancelled):
        Run(engine, NoDrafter(), tokens=20)
    engine.resume()
    assert caplog.messages == []


def test_measuring_a_model_stops_when_told(engine: Engine) -> None:
    asked: list[None] = []

    def go_on() -> bool:
        asked.append(None)
        return len(asked) < 4

    with pytest.raises(Cancelled):
        engine.calibrate(16, go_on)
    assert len(asked) == 4


def test_measuring_gives_a_cost_for_every_width_and_leaves_nothing_behind(engine: Engine) -> None:
    measured = engine.calibrate(16, lambda: True)
    assert set(measured.ms) == {1, 2, 3, 4, 6, 8, 9, 12, 16}
    assert 0 < measured.tie_threshold < 1
    assert len(engine.memory) == 0


@pytest.mark.parametrize("name", ["dense_model", "hybrid_model", "short_conv_model"])
def test_a_prompt_that_another_pushed_out_is_answered_as_if_it_had_stayed(
    name: str, request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(name)
    engine = Engine(path, context=1024, threads=1, prefix_bytes=1 << 30)
    Run(engine, NoDrafter())
    stayed = Run(engine, NoDrafter())
    Run(engine, NoDrafter(), prompt=OTHER)
    back = Run(engine, NoDrafter())
    engine.close()
    assert back.stats.reused_tokens == stayed.stats.reused_tokens > 200
    assert back.sequence.margins == stayed.sequence.margins
    assert back.tokens == stayed.tokens


def test_a_prompt_is_put_aside_and_taken_back_without_a_second_copy(dense_model: Path) -> None:
    engine = Engine(dense_model, context=1024, threads=1, prefix_bytes=1 << 30)
    Run(engine, NoDrafter(), prompt=PROMPT * 3)
    tracemalloc.start()
    try:
        stash = engine.memory.stash()
        _, most = tracemalloc.get_traced_memory()
        assert stash.bytes < most < 1.1 * stash.bytes
        tracemalloc.reset_peak()
        engine.memory.unstash(stash)
        _, most = tracemalloc.get_traced_memory()
        assert most < 1.1 * stash.bytes
    finally:
        tracemalloc.stop()
        engine.close()


def test_a_window_that_another_prompt_pushed_out_is_read_again(sliding_window_model: Path) -> None:
    engine = Engine(sliding_window_model, context=1024, threads=1, prefix_bytes=1 << 30)
    fresh = Run(engine, NoDrafter())
    Run(engine, NoDrafter(), prompt=OTHER)
    back = Run(engine, NoDrafter())
    engine.close()
    assert back.stats.reused_tokens == 0
    assert back.sequence.margins == fresh.sequence.margins
