"""The last answer, put together from its events."""

from __future__ import annotations

from copydraft.api.last import LastAnswers
from copydraft.protocol import Delta, EditResult, ExplainResult, Failed, Queued, Span
from tests.fixtures.fake_service import stats


def delta(text: str, tokens: int, *corpora: str) -> Delta:
    """A Delta whose characters came from `corpora`, one each; "new" is newly written."""
    spans = [
        Span(start=at, end=at + 1, corpus="" if corpus == "new" else corpus)
        for at, corpus in enumerate(corpora)
    ]
    return Delta(text=text, spans=spans, tokens=tokens)


def result(text: str) -> EditResult:
    spans = [Span(start=0, end=len(text), corpus="region", path="a.py")]
    return EditResult(text=text, diff="", spans=spans, stats=stats(), answer=text)


def test_nothing_is_there_before_the_first_answer() -> None:
    last = LastAnswers()
    last.follow("edit", "a.py")(Queued(ahead=0))
    assert last.answer() is None


def test_spans_of_deltas_are_joined_and_count_from_the_answers_start() -> None:
    last = LastAnswers()
    watch = last.follow("edit", "a.py")
    watch(delta("ab", 1, "region", "region"))
    watch(delta("cd", 2, "region", "new"))
    watch(delta("\U0001f600", 3, "new"))
    answer = last.answer()
    assert answer is not None
    assert answer.text == "abcd\U0001f600"
    assert answer.spans == [Span(start=0, end=3, corpus="region"), Span(start=3, end=5)]
    assert (answer.tokens, answer.stats) == (3, None)


def test_copies_from_two_files_stay_apart() -> None:
    last = LastAnswers()
    watch = last.follow("explain", "a.py")
    for at, path in enumerate(("a.py", "b.py")):
        span = Span(start=0, end=1, corpus="workspace", path=path)
        watch(Delta(text="x", spans=[span], tokens=at + 1))
    answer = last.answer()
    assert answer is not None
    assert [(span.start, span.end, span.path) for span in answer.spans] == [
        (0, 1, "a.py"),
        (1, 2, "b.py"),
    ]


def test_the_result_takes_the_place_of_what_was_written() -> None:
    last = LastAnswers()
    watch = last.follow("edit", "a.py")
    watch(delta("```\nb\n```", 5))
    watch(result("b\n"))
    answer = last.answer()
    assert answer is not None
    assert answer.text == "b\n"
    assert (answer.tokens, answer.tokens_per_s, answer.stats) == (20, 50.0, stats())


def test_a_failed_answer_brings_back_the_one_before() -> None:
    last = LastAnswers()
    last.follow("edit", "a.py")(result("b\n"))
    watch = last.follow("edit", "a.py")
    watch(delta("half", 1))
    watch(Failed(code="cancelled", message="", hint=""))
    answer = last.answer()
    assert answer is not None
    assert answer.text == "b\n"


def test_of_two_answers_at_once_the_one_that_wrote_last_is_shown() -> None:
    last = LastAnswers()
    first, second = last.follow("edit", "a.py"), last.follow("explain", "b.py")
    first(delta("one", 1))
    second(delta("two", 1))
    first(result("done\n"))
    answer = last.answer()
    assert answer is not None
    assert answer.text == "two"
    second(ExplainResult(text="why", spans=[], stats=stats(kind="explain")))
    answer = last.answer()
    assert answer is not None
    assert answer.text == "why"


def test_forgetting_leaves_what_is_being_written() -> None:
    last = LastAnswers()
    last.follow("edit", "a.py")(result("b\n"))
    last.follow("edit", "a.py")(delta("half", 1))
    last.forget()
    answer = last.answer()
    assert answer is not None
    assert answer.text == "half"
