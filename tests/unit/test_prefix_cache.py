"""Prompts that take turns in one memory come back without being read again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from copydraft.engine.memory import SequenceMemory
from copydraft.engine.prefix_cache import PrefixCache

EDIT = list(range(1000, 1500))
COMPLETION = list(range(2000, 2300))
EXPLANATION = list(range(3000, 3400))


class FakeContext:
    """States of as many bytes as there are tokens, where there is memory for them."""

    has_memory = True

    rollback_limit = None

    def __init__(self, *, saves_all: bool = True) -> None:
        self.saves_all = saves_all
        self.length = 0

    def remove(self, sequence: int, start: int) -> bool:
        self.length = max(start, 0)
        return True

    def state_bytes(self, sequence: int, *, whole: bool = False) -> int:
        return self.length

    def save_state(self, sequence: int, *, whole: bool = False) -> bytearray:
        if not self.has_memory:
            raise MemoryError
        return bytearray(self.length)

    def load_state(self, sequence: int, state: bytearray, *, whole: bool = False) -> bool:
        self.length = len(state)
        return True


class Reader:
    """Has prompts in memory, as requests do."""

    def __init__(self, most_bytes: int = 2000, *, saves_all: bool = True) -> None:
        self._context = FakeContext(saves_all=saves_all)
        self._memory = SequenceMemory(self._context, 0)
        self._cache = PrefixCache(self._memory, most_bytes)

    def clear(self) -> None:
        self._cache.clear()

    def read(self, prompt: Sequence[int]) -> int:
        """How many tokens had to be read."""
        self._cache.seek(prompt)
        known = self._memory.rollback(self._memory.common_prefix(prompt))
        self._memory.decoded(prompt[known:])
        self._context.length = len(prompt)
        return len(prompt) - known


def read_in_turn(reader: Reader, *prompts: Sequence[int]) -> list[int]:
    return [reader.read(prompt) for prompt in prompts]


def test_an_edit_between_completions_is_read_once() -> None:
    prompts = (EDIT, COMPLETION, [*EDIT, 1], [*COMPLETION, 2], [*EDIT, 3])
    assert read_in_turn(Reader(), *prompts) == [500, 300, 1, 1, 1]


def test_a_prompt_that_goes_on_from_what_is_there_is_no_reason_to_keep_that() -> None:
    reader = Reader()
    reader.read([*EDIT, *range(200)])
    reader.read([*EDIT, *COMPLETION])
    # Had the first been kept, the edit's beginning would be there twice.
    assert read_in_turn(reader, EXPLANATION, [*EDIT, *range(200)]) == [400, 200]


def test_a_few_tokens_are_read_again() -> None:
    assert read_in_turn(Reader(), EDIT[:100], COMPLETION, EDIT[:100]) == [100, 300, 100]


def test_what_was_wanted_longest_ago_makes_room() -> None:
    reader = Reader(most_bytes=800)
    # Kept after these: the edit and the completion, 500 and 300 tokens.
    assert read_in_turn(reader, EDIT, COMPLETION, EXPLANATION) == [500, 300, 400]
    # The explanation pushes out the edit.
    assert read_in_turn(reader, COMPLETION, EXPLANATION, EDIT) == [0, 0, 500]


@pytest.mark.parametrize("most_bytes", [0, 499])
def test_a_prompt_that_is_larger_than_all_room_is_not_kept(most_bytes: int) -> None:
    assert read_in_turn(Reader(most_bytes), EDIT, COMPLETION, EDIT) == [500, 300, 500]


def test_a_memory_that_cannot_be_copied_whole_is_not_kept() -> None:
    assert read_in_turn(Reader(saves_all=False), EDIT, COMPLETION, EDIT) == [500, 300, 500]


def test_the_prompt_that_is_wanted_makes_no_room_for_the_one_it_takes_the_place_of() -> None:
    reader = Reader(most_bytes=800)
    assert read_in_turn(reader, EDIT, EXPLANATION, EDIT, EXPLANATION) == [500, 400, 0, 0]


def test_a_prompt_whose_beginning_is_shared_with_another_stays_kept() -> None:
    alike = [*EDIT[:150], *range(350)]
    reader = Reader()
    # The edits begin alike, as all do with the instructions of their kind.
    assert read_in_turn(reader, EDIT, COMPLETION, alike, EDIT) == [500, 300, 350, 0]


def test_without_memory_to_keep_a_prompt_it_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeContext, "has_memory", False)
    assert read_in_turn(Reader(), EDIT, COMPLETION, EDIT) == [500, 300, 500]


def test_the_latest_eight_are_kept() -> None:
    reader = Reader(most_bytes=100_000)
    prompts = [[number] * 200 for number in range(10)]
    read_in_turn(reader, *prompts)
    # The last is in memory, eight are kept beside it, and the first is gone.
    assert read_in_turn(reader, prompts[2], prompts[1], prompts[0]) == [0, 0, 200]


def test_nothing_is_kept_of_a_model_that_is_unloaded() -> None:
    reader = Reader()
    read_in_turn(reader, EDIT, COMPLETION)
    reader.clear()
    assert reader.read(EDIT) == 500
