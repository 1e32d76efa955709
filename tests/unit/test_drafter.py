"""The drafter of a request joins its sources and remembers all that was written."""

from __future__ import annotations

from copydraft.drafting.drafter import CopyDrafter, NoDrafter
from copydraft.drafting.policy import Experience, Policy
from copydraft.drafting.profile import profile_of
from copydraft.tokens import NO_DRAFT, Document

FREE = [1.0] * 64


def drafter(*documents: Document, costs: list[float] = FREE) -> CopyDrafter:
    return CopyDrafter(documents, Policy(Experience(profile_of("edit", {}), costs)))


def region(*tokens: int) -> Document:
    return Document("region", "a.py", "region", tokens)


def test_the_region_is_drafted_from_its_start() -> None:
    assert list(drafter(region(1, 2, 3)).propose(8).tokens) == [1, 2, 3]


def test_a_draft_names_where_it_was_copied_from() -> None:
    draft = drafter(region(1, 2, 3)).propose(8)
    assert (draft.corpus, draft.path) == ("region", "a.py")


def test_a_draft_keeps_to_the_limit() -> None:
    assert list(drafter(region(1, 2, 3)).propose(2).tokens) == [1, 2]
    assert drafter(region(1, 2, 3)).propose(0) == NO_DRAFT


def test_text_of_the_session_is_drafted_where_the_region_ends() -> None:
    subject = drafter(region(1, 2), Document("session", "", "prompt", (7, 8, 9, 10)))
    subject.written([1, 2, 7, 8], accepted=0)
    draft = subject.propose(8)
    assert (list(draft.tokens), draft.corpus) == ([9, 10], "session")


def test_a_prediction_is_followed_like_the_region() -> None:
    subject = drafter(Document("prediction", "a.py", "region", (1, 5, 6)), region(1, 2, 3))
    subject.written([1, 5], accepted=0)
    draft = subject.propose(1)
    assert (list(draft.tokens), draft.corpus) == ([6], "prediction")


def test_two_drafters_share_no_text() -> None:
    drafter(region(1, 2)).written([40, 41, 42], accepted=0)
    other = drafter(region(1, 2))
    other.written([40], accepted=0)
    assert 41 not in other.propose(8).tokens


def test_a_shorter_prompt_after_a_longer_one_is_drafted_from_whole() -> None:
    experience = Experience(profile_of("edit", {}), FREE)
    for prompt in (range(100, 200), range(200, 203)):
        policy = Policy(experience)
        subject = CopyDrafter([Document("session", "", "prompt", tuple(prompt))], policy)
        subject.written([prompt[0]], accepted=0)
        assert subject.propose(1).tokens == [prompt[1]]


def test_a_match_of_one_token_drafts_little_where_a_drafted_token_has_a_price() -> None:
    subject = drafter(
        Document("session", "", "prompt", tuple(range(40))),
        costs=[1 + 0.1 * k for k in range(64)],
    )
    subject.written([99, 7], accepted=0)
    assert len(subject.propose(63).tokens) <= 3


def test_plain_decoding_proposes_nothing() -> None:
    plain = NoDrafter()
    plain.written([1, 2, 3], accepted=0)
    assert plain.propose(8) == NO_DRAFT


def test_an_output_that_goes_on_in_a_text_is_drafted_from_its_first_token() -> None:
    policy = Policy(Experience(profile_of("explain", {}), FREE))
    text = Document("session", "a.py", "file", (1, 2, 3, 4, 5, 9, 1, 2, 3))
    draft = CopyDrafter([], policy, output=text).propose(2)
    assert (list(draft.tokens), draft.corpus, draft.path) == ([4, 5], "session", "a.py")
