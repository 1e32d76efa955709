"""The tokens of a vocabulary that have a meaning of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from copydraft.engine.llama import Model
from copydraft.tokens import FillTokens
from tests.fixtures.tiny_models import FILL_MIDDLE, FILL_TOKENS, write_scripted


def fill_tokens(path: Path) -> tuple[FillTokens | None, Callable[[str], int]]:
    """What a model has for filling in, and how its special tokens are numbered."""
    model = Model(path, vocab_only=True)

    def number(text: str) -> int:
        (token,) = model.encode(text, special=True)
        return token

    return model.fill_tokens, number


def test_qwens_tokens_for_filling_in_are_found(tmp_path: Path) -> None:
    path = write_scripted(tmp_path / "model.gguf", {}, FILL_TOKENS)
    found, number = fill_tokens(path)
    assert found is not None
    before, behind, middle, repository, file = map(number, FILL_TOKENS)
    assert found[:5] == (before, behind, middle, repository, file)
    assert found.ends == {before, behind, middle, repository, file}


def test_a_model_without_such_tokens_has_none(dense_model: Path) -> None:
    assert fill_tokens(dense_model)[0] is None


@pytest.mark.parametrize("missing", FILL_TOKENS[:3])
def test_some_of_the_tokens_are_not_enough(tmp_path: Path, missing: str) -> None:
    others = [text for text in FILL_TOKENS if text != missing]
    assert fill_tokens(write_scripted(tmp_path / "model.gguf", {}, others))[0] is None


def test_the_names_of_file_and_repository_are_optional(tmp_path: Path) -> None:
    found, _ = fill_tokens(write_scripted(tmp_path / "model.gguf", {}, FILL_TOKENS[:3]))
    assert found is not None
    assert (found.repository, found.file) == (None, None)


def test_mistrals_tokens_have_none_for_the_middle(tmp_path: Path) -> None:
    marks = ("[PREFIX]", "[SUFFIX]", "[MIDDLE]")
    path = write_scripted(tmp_path / "model.gguf", {}, controls=marks)
    found, number = fill_tokens(path)
    assert found is not None
    assert (found.before, found.behind, found.middle) == (number(marks[0]), number(marks[1]), None)
    assert found.ends == set(map(number, marks))


def test_the_end_of_a_file_ends_a_completion(tmp_path: Path) -> None:
    marks = ("<|file_separator|>",)
    path = write_scripted(tmp_path / "model.gguf", {}, FILL_TOKENS[:3], controls=marks)
    found, number = fill_tokens(path)
    assert found is not None
    assert number("<|file_separator|>") in found.ends


def test_a_completing_model_has_the_tokens(answering_model: Callable[..., Path]) -> None:
    assert fill_tokens(answering_model("x", after=FILL_MIDDLE))[0] is not None
