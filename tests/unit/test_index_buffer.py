"""A buffer's tokens are those that its whole text has, after any change."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from copydraft.index import buffer as buffers
from copydraft.index.buffer import Buffer, change
from copydraft.models.tokenizer import BulkTokenizer, bulk_tokenizer
from tests.fixtures import vocabularies
from tests.fixtures.word_numbers import WordNumbers
from tests.unit.test_bulk_tokenizer import FAMILIES, TEXTS


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BulkTokenizer]:
    place = tmp_path_factory.mktemp("vocabularies")
    made = {}
    for pre in FAMILIES:
        bulk = bulk_tokenizer(vocabularies.write(place / f"{pre}.gguf", pre))
        assert bulk is not None
        made[pre] = bulk
    return made


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that short texts have many of them."""
    monkeypatch.setattr(buffers, "_PIECE", 3)


EDITS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2), TEXTS), max_size=6)


@pytest.mark.parametrize("pre", FAMILIES)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.lists(TEXTS, max_size=6).map(" ".join), edits=EDITS)
def test_any_changes_give_the_tokens_of_the_whole_text(
    tokenizers: dict[str, BulkTokenizer],
    pre: str,
    text: str,
    edits: list[tuple[float, float, str]],
) -> None:
    tokenizer = tokenizers[pre]
    buffer = Buffer(tokenizer, text)
    assert buffer.tokens.tolist() == tokenizer.encode_one(text)
    for place, share, new in edits:
        start = int(place * len(text))
        end = min(len(text), start + int(share * len(text)))
        text = text[:start] + new + text[end:]
        buffer.replace(start, end, new)
        assert buffer.text == text
        assert buffer.tokens.tolist() == tokenizer.encode_one(text)


def typed(tokenizer: BulkTokenizer, buffer: Buffer, at: int, text: str) -> None:
    for offset, letter in enumerate(text):
        buffer.replace(at + offset, at + offset, letter)
        assert buffer.tokens.tolist() == tokenizer.encode_one(buffer.text)


@pytest.mark.parametrize("pre", FAMILIES)
def test_what_is_typed_letter_by_letter_is_followed(
    tokenizers: dict[str, BulkTokenizer], pre: str
) -> None:
    buffer = Buffer(tokenizers[pre], "one two it three\n\n   four five six\n")
    typed(tokenizers[pre], buffer, 10, "'s <tool_call>12345\n\n    ab\r\n\r\n<|fim_prefix|> é  ")


def test_only_the_pieces_around_a_change_are_tokenised(monkeypatch: pytest.MonkeyPatch) -> None:
    words = WordNumbers()
    buffer = Buffer(words, "word " * 1000)
    done: list[str] = []
    encode_many = words.encode_many

    def noted(texts: list[str]) -> object:
        done.extend(texts)
        return encode_many(texts)

    monkeypatch.setattr(words, "encode_many", noted)
    buffer.replace(2500, 2500, "x")
    # The piece before as well: the blank that parts them might have lost its letter.
    assert "".join(done) == " word xword"


def test_without_a_known_reach_the_whole_text_is_tokenised() -> None:
    words = WordNumbers()
    words.reach = None
    buffer = Buffer(words, "one two")
    buffer.replace(3, 4, "")
    assert buffer.tokens.tolist() == words.encode_one("onetwo")


def test_an_empty_text_has_no_tokens() -> None:
    buffer = Buffer(WordNumbers(), "")
    assert buffer.tokens.tolist() == []
    buffer.replace(0, 0, "one")
    buffer.replace(0, 3, "")
    assert buffer.tokens.tolist() == []


@example("    a", "    ")
@given(TEXTS, TEXTS)
def test_a_buffer_becomes_any_other_text(old: str, new: str) -> None:
    words = WordNumbers()
    buffer = Buffer(words, old)
    buffer.become(new)
    assert buffer.text == new
    assert buffer.tokens.tolist() == words.encode_one(new)


def test_a_change_is_the_shortest_replacement() -> None:
    assert change("abcd", "abXd") == (2, 3, "X")
    assert change("abab", "ab") == (2, 4, "")
    assert change("aa", "aaa") == (2, 2, "a")
    assert change("", "x") == (0, 0, "x")
    assert change("same", "same") == (4, 4, "")
    long = "x" * 10_000
    assert change(long + "a" + long, long + "b" + long) == (10_000, 10_001, "b")


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_a_change_makes_the_new_text_of_the_old(old: str, new: str) -> None:
    start, end, text = change(old, new)
    assert old[:start] + text + old[end:] == new
