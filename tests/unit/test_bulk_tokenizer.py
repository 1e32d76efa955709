"""Text in bulk gets the tokens that llama.cpp gives it."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copydraft import paths
from copydraft.engine.bulk import OneByOne, index_tokenizer
from copydraft.engine.llama import Model
from copydraft.errors import ModelProblem
from copydraft.models.tokenizer import BulkTokenizer, bulk_tokenizer
from tests.fixtures import vocabularies

FAMILIES = ("gpt-2", "starcoder", "smollm", "qwen2", "qwen35", "llama-bpe")

QWEN = paths.models_dir() / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
"""This user's, looked up before any test gets a home of its own."""

LANGUAGES = {
    "Python": ".py",
    "C": ".h",
    "JavaScript": ".js",
    "TypeScript": ".ts",
    "Perl": ".pm",
    "Vim script": ".vim",
    "HTML": ".html",
    "CSS": ".css",
    "JSON": ".json",
    "Markdown": ".md",
    "CMake": ".cmake",
    "shell": ".sh",
    "reStructuredText": ".rst",
    "SQL": ".sql",
}
_PLACES = (Path(os.__file__).parent, Path("/usr/include"), Path("/usr/share"), Path("/usr/lib"))
_FILES = 8
_LARGEST = 60_000


class Pair:
    """Both tokenizers of one file."""

    def __init__(self, path: Path) -> None:
        bulk = bulk_tokenizer(path)
        assert bulk is not None
        self.bulk: BulkTokenizer = bulk
        self.model = Model(path, vocab_only=True)

    def check(self, *texts: str) -> None:
        for text, tokens in zip(texts, self.bulk.encode_many(texts), strict=True):
            assert tokens.tolist() == self.model.encode(text)
            assert self.bulk.encode_one(text) == tokens.tolist()


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pair]:
    place = tmp_path_factory.mktemp("vocabularies")
    return {pre: Pair(vocabularies.write(place / f"{pre}.gguf", pre)) for pre in FAMILIES}


PIECES = st.sampled_from(
    [
        *("a", "b", "ab", "abc", "é", "e\u0301", "中文", "١٢", "1", "12", "1234", "_", "'", "'s"),
        *("'Re", " ", "  ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u2028", "\x1c", "-", "--", ";"),
        *("<tool_call>", "</tool_call>", "<tool", "_call>", "<|fim_prefix|>", "<|im_end|>", "😀"),
        *("\x00", "\x85", "\u3000", "ſ", "ʼ", "²", "½", "def ", " return", "    ", "```", "()"),
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@pytest.mark.parametrize("pre", FAMILIES)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.one_of(TEXTS, st.text(max_size=40)))
def test_any_text_has_llama_cpps_tokens_in_every_family(
    pairs: dict[str, Pair], pre: str, text: str
) -> None:
    pairs[pre].check(text)


@pytest.fixture(scope="module")
def qwen() -> Pair:
    if not QWEN.exists():
        pytest.skip(f"{QWEN} is not here")
    return Pair(QWEN)


def files_of(suffix: str) -> Iterator[str]:
    """Some texts of a language from this machine."""
    count = 0
    for place in _PLACES:
        for directory, _, names in os.walk(place):
            for name in sorted(names):
                path = Path(directory, name)
                if not name.endswith(suffix) or not 0 < path.stat().st_size < _LARGEST:
                    continue
                try:
                    yield path.read_text("utf-8")
                except (OSError, UnicodeDecodeError):
                    continue
                count += 1
                if count == _FILES:
                    return
                break  # one a directory: variety


@pytest.mark.parametrize("language", LANGUAGES)
def test_real_files_have_llama_cpps_tokens(qwen: Pair, language: str) -> None:
    texts = list(files_of(LANGUAGES[language]))
    if not texts:
        pytest.skip(f"there are no {language} files on this machine")
    qwen.check(*texts)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.one_of(TEXTS, st.text(max_size=60)))
def test_any_text_has_llama_cpps_tokens_with_a_real_vocabulary(qwen: Pair, text: str) -> None:
    qwen.check(text)


def test_lone_surrogates_are_taken_for_question_marks(pairs: dict[str, Pair]) -> None:
    bulk = pairs["qwen2"].bulk
    assert bulk.encode_one("a\ud800b") == bulk.encode_one("a?b")


def test_another_vocabulary_has_another_fingerprint(
    pairs: dict[str, Pair], dense_model: Path
) -> None:
    dense = bulk_tokenizer(dense_model)
    assert dense is not None
    prints = {pair.bulk.fingerprint for pair in pairs.values()} | {dense.fingerprint}
    assert len(prints) == len(FAMILIES) + 1


def test_a_change_reaches_as_far_as_the_longest_token_with_a_text_of_its_own(
    pairs: dict[str, Pair], dense_model: Path
) -> None:
    assert pairs["qwen2"].bulk.reach == len("</tool_call>")


def test_a_family_that_is_not_covered_has_no_bulk_tokenizer(tmp_path: Path) -> None:
    assert bulk_tokenizer(vocabularies.write(tmp_path / "a.gguf", "deepseek-llm")) is None


def test_a_file_that_is_no_gguf_is_a_model_problem(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"no")
    with pytest.raises(ModelProblem, match="not a GGUF file"):
        bulk_tokenizer(tmp_path / "a.gguf")
    with pytest.raises(ModelProblem, match="cannot read"):
        bulk_tokenizer(tmp_path / "b.gguf")


def test_llama_cpp_tokenises_for_a_family_that_is_not_covered(tmp_path: Path) -> None:
    path = vocabularies.write(tmp_path / "a.gguf", "deepseek-llm")
    tokenizer = index_tokenizer(path)
    assert isinstance(tokenizer, OneByOne)
    assert tokenizer.reach is None
    text = "def a():\n    return 12\n"
    [tokens] = tokenizer.encode_many([text])
    assert tokens.tolist() == Model(path, vocab_only=True).encode(text)
    assert (
        tokenizer.fingerprint
        != index_tokenizer(vocabularies.write(tmp_path / "b.gguf", "qwen2")).fingerprint
    )


def test_llama_cpps_memory_goes_with_the_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed: list[Model] = []
    free = Model.close

    def close(model: Model) -> None:
        freed.append(model)
        free(model)

    monkeypatch.setattr(Model, "close", close)
    tokenizer = OneByOne(vocabularies.write(tmp_path / "a.gguf", "deepseek-llm"))
    assert freed == []
    del tokenizer
    gc.collect()
    assert len(freed) == 1
