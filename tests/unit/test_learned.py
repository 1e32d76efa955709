"""What outlives a request: experience by kind, and the answers of a workspace."""

from __future__ import annotations

import msgspec
import pytest

from copydraft.drafting.candidate import Candidate
from copydraft.drafting.profile import Profile, defaults
from copydraft.serving.learned import EarlierAnswers, Experiences

COSTS = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]


class Store:
    def __init__(self, **saved: bytes) -> None:
        self.saved = dict(saved)

    def load_profiles(self) -> dict[str, bytes]:
        return dict(self.saved)

    def save_profile(self, kind: str, profile: bytes, *, was: bytes | None) -> None:
        if self.saved.get(kind) == was:
            self.saved[kind] = profile


def test_a_kind_begins_with_what_is_shipped() -> None:
    assert Experiences(Store()).of("edit", COSTS).survival.weights == defaults()["edit"].weights


def test_a_saved_profile_goes_before_what_is_shipped() -> None:
    saved = msgspec.json.encode(Profile(weights={"cursor run 0": 3.0}))
    assert Experiences(Store(edit=saved)).of("edit", COSTS).survival.weights == {
        "cursor run 0": 3.0
    }


def test_a_saved_profile_that_cannot_be_read_is_left_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    experience = Experiences(Store(edit=b'{"passes": -1}')).of("edit", COSTS)
    assert experience.survival.weights == defaults()["edit"].weights
    assert "the default is used" in caplog.text


def test_what_was_learned_is_there_for_the_next_process() -> None:
    store = Store()
    first = Experiences(store)
    for _ in range(2000):
        first.of("edit", COSTS).passed(6, drafted=5, accepted=5)
    first.save()
    assert Experiences(store).of("edit", COSTS).rate == pytest.approx(6 / 1.5, abs=0.1)


def test_a_profile_that_was_put_there_meanwhile_is_not_overwritten() -> None:
    store = Store()
    experiences = Experiences(store)
    experiences.of("edit", COSTS)
    better = msgspec.json.encode(Profile(weights={"cursor run 0": 3.0}))
    store.saved["edit"] = better
    experiences.save()
    assert store.saved["edit"] == better
    assert experiences.of("edit", COSTS).survival.weights == {"cursor run 0": 3.0}


def test_a_damaged_profile_leaves_those_of_other_kinds_alone() -> None:
    good = msgspec.json.encode(Profile(weights={"cursor run 0": 3.0}))
    experiences = Experiences(Store(edit=b"{", explain=good))
    assert experiences.of("explain", COSTS).survival.weights == {"cursor run 0": 3.0}


def test_answers_are_kept_by_workspace() -> None:
    answers = EarlierAnswers()
    answers.add("/home/me/one", "a.py", [1, 2])
    answers.add("/home/me/two", "b.py", [3])
    assert [(d.path, d.field, d.tokens) for d in answers.of("/home/me/one")] == [
        ("a.py", "answer", (1, 2))
    ]


def test_requests_of_no_workspace_leave_nothing_and_find_nothing() -> None:
    answers = EarlierAnswers()
    answers.add("", "a.py", [1, 2])
    assert answers.of("") == []


def test_only_the_latest_answers_and_workspaces_are_kept() -> None:
    answers = EarlierAnswers()
    for number in range(40):
        answers.add("w", "a.py", [number])
    assert [document.tokens[0] for document in answers.of("w")] == list(range(8, 40))
    for number in range(16):
        answers.add(f"other {number}", "a.py", [1])
    assert answers.of("w") == []


def test_what_was_learned_goes_on_where_other_widths_are_allowed() -> None:
    experiences = Experiences(Store())
    experiences.of("edit", COSTS).survival.learn(
        Candidate("cursor", 0, [1], "region", ""), accepted=1, judged=1
    )
    learned = experiences.of("edit", COSTS).survival.weights
    assert experiences.of("edit", COSTS[:3]).survival.weights == learned
