"""Memory rolls back only where llama.cpp's answer can be believed."""

from __future__ import annotations

import pytest

from copydraft.engine.memory import SequenceMemory
from copydraft.errors import EngineProblem


class FakeContext:
    """A context that notes what it is asked for."""

    def __init__(self, rollback_limit: int | None) -> None:
        self.rollback_limit = rollback_limit
        self.saves_all = True
        self.calls: list[tuple[str, int]] = []
        self.refuses = False
        self.saved = 0

    def remove(self, sequence: int, start: int) -> bool:
        self.calls.append(("remove", start))
        return not self.refuses

    def state_bytes(self, sequence: int, *, whole: bool = False) -> int:
        return 1

    def save_state(self, sequence: int, *, whole: bool = False) -> bytearray:
        self.saved += 1
        return bytearray([self.saved])

    def load_state(self, sequence: int, state: bytearray, *, whole: bool = False) -> bool:
        self.calls.append(("load", state[0]))
        return not self.refuses


def memory(limit: int | None, *passes: int) -> tuple[SequenceMemory, FakeContext]:
    """A memory after passes of so many tokens each, which are 0, 1, 2, …"""
    context = FakeContext(limit)
    subject = SequenceMemory(context, 0)
    for count in passes:
        subject.decoded(range(len(subject), len(subject) + count))
    return subject, context


def test_a_dense_model_rolls_back_anywhere() -> None:
    subject, context = memory(None, 100, 1)
    assert subject.rollback(3) == 3
    assert len(subject) == 3
    assert context.calls == [("remove", 3)]


def test_a_recurrent_model_takes_back_part_of_the_last_pass() -> None:
    subject, context = memory(8, 20, 5)
    assert subject.rollback(21) == 21
    assert context.calls == [("remove", 21)]


@pytest.mark.parametrize("length", [20, 12])
def test_the_whole_last_pass_or_more_needs_a_saved_state(length: int) -> None:
    subject, context = memory(8, 10)
    subject.checkpoint()
    subject.decoded(range(10, 20))
    subject.decoded(range(20, 25))
    assert subject.rollback(length) == 10
    assert context.calls == [("load", 1), ("remove", 10)]


def test_more_than_the_snapshots_needs_a_saved_state() -> None:
    subject, _ = memory(4, 10)
    subject.checkpoint()
    subject.decoded(range(10, 20))
    assert subject.rollback(15) == 10


def test_a_second_rollback_without_a_pass_between_needs_a_saved_state() -> None:
    subject, _ = memory(8, 10)
    subject.checkpoint()
    subject.decoded(range(10, 16))
    assert subject.rollback(14) == 14
    assert subject.rollback(13) == 10


def test_without_a_saved_state_everything_is_decoded_again() -> None:
    subject, context = memory(0, 10, 4)
    assert subject.rollback(12) == 0
    assert context.calls == [("remove", -1)]


def test_a_state_saved_for_text_that_was_taken_back_is_never_used() -> None:
    subject, context = memory(0, 10)
    subject.checkpoint()
    subject.decoded(range(10, 20))
    subject.checkpoint()
    assert subject.rollback(15) == 10
    subject.decoded(range(50, 60))
    assert subject.rollback(18) == 10
    assert context.calls[-2:] == [("load", 1), ("remove", 10)]


def test_old_states_make_room_for_new_ones() -> None:
    subject, _ = memory(0)
    for _ in range(12):
        subject.decoded([1])
        subject.checkpoint()
    assert subject.rollback(2) == 0


def test_dense_models_save_no_states() -> None:
    subject, context = memory(None, 10)
    subject.checkpoint()
    assert context.saved == 0


def test_a_refused_rollback_is_an_error() -> None:
    subject, context = memory(None, 10)
    context.refuses = True
    with pytest.raises(EngineProblem):
        subject.rollback(5)


def test_the_common_prefix_is_counted_in_tokens() -> None:
    subject, _ = memory(None, 5)
    assert subject.common_prefix([0, 1, 2, 9, 4]) == 3
    assert subject.common_prefix([0, 1]) == 2
    assert subject.common_prefix([0, 1, 2, 3, 4, 5]) == 5
    assert subject.common_prefix([7]) == 0


def test_a_failed_pass_leaves_a_dense_memory_as_it_was_noted() -> None:
    subject, context = memory(None, 5)
    subject.recover()
    assert len(subject) == 5
    assert context.calls == [("remove", 5)]


def test_a_failed_pass_takes_a_recurrent_memory_back_to_a_saved_state() -> None:
    subject, context = memory(8, 5)
    subject.checkpoint()
    subject.decoded(range(5, 9))
    subject.recover()
    assert len(subject) == 5
    assert context.calls == [("load", 1), ("remove", 5)]


def test_a_failed_pass_empties_a_recurrent_memory_without_a_saved_state() -> None:
    subject, _ = memory(8, 5)
    subject.recover()
    assert len(subject) == 0


def test_a_guarded_pass_can_be_taken_back_whole() -> None:
    subject, context = memory(8, 5)
    subject.guard()
    subject.decoded(range(5, 9))
    assert subject.rollback(5) == 5
    assert context.calls == [("load", 1), ("remove", 5)]


def test_guards_do_not_push_out_the_states_of_the_prompt() -> None:
    subject, _ = memory(0, 5)
    subject.checkpoint()
    for _ in range(20):
        subject.guard()
        subject.decoded([1])
    assert subject.rollback(6) == 5


def test_what_was_stashed_comes_back_with_the_states_to_roll_back_to() -> None:
    subject, context = memory(8, 10)
    subject.checkpoint()
    stash = subject.stash()
    subject.clear()
    subject.decoded([99])
    subject.unstash(stash)
    assert subject.common_prefix(range(10)) == 10
    assert context.calls[-2:] == [("remove", -1), ("load", 2)]
    subject.decoded(range(10, 30))
    assert subject.rollback(10) == 10


def test_a_stash_that_is_refused_leaves_an_empty_memory() -> None:
    subject, context = memory(None, 10)
    stash = subject.stash()
    context.load_state = lambda *_, **__: False  # type: ignore[method-assign]
    subject.unstash(stash)
    assert len(subject) == 0
