"""Names, defaults and advice of the catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

from copydraft.errors import ModelProblem
from copydraft.models import catalog
from copydraft.models.catalog import HubFile, WheelParts

GIB = 1 << 30


def test_the_small_coder_is_the_default_without_a_card() -> None:
    assert catalog.default_model(None) == "qwen2.5-coder-1.5b"


@pytest.mark.parametrize(
    ("gib", "name"),
    [
        (24, "qwen3.5-9b"),
        (16, "qwen3.5-9b"),
        (12, "qwen3.5-9b"),
        (8, "qwen3.5-4b"),
        (6, "qwen3.5-4b"),
        (4, "qwen2.5-coder-1.5b"),
    ],
)
def test_the_default_on_a_card_leaves_room_for_the_desktop(gib: int, name: str) -> None:
    assert catalog.default_model(gib * GIB) == name


def test_a_model_is_found_whatever_the_case() -> None:
    assert catalog.find("Qwen3.5-9B").name == "qwen3.5-9b"


def test_an_unknown_name_gets_near_names() -> None:
    with pytest.raises(ModelProblem, match=r"no model named qwen-coder-1\.5b") as caught:
        catalog.find("qwen-coder-1.5b")
    assert "qwen2.5-coder-1.5b" in caught.value.hint


def test_a_name_like_none_is_sent_to_the_list() -> None:
    with pytest.raises(ModelProblem) as caught:
        catalog.find("xyz")
    assert caught.value.hint == "`copydraft model list` shows all names"


def test_a_file_of_the_catalog_has_its_models_name() -> None:
    assert catalog.name_of(Path("/d/SmolLM2-135M-Instruct.Q4_1.gguf")) == "smollm2-135m"
    assert catalog.name_of(Path("/d/mine.gguf")) is None


def test_the_largest_model_that_fits_is_advised() -> None:
    advice = catalog.what_fits(4_000_000_000, 8192)
    assert advice == (
        "qwen2.5-coder-3b fits (3.0 GB), or set `context` (COPYDRAFT_CONTEXT) to less than 8192 "
        "tokens and run `copydraft daemon restart`"
    )


def test_where_nothing_fits_a_shorter_context_is_advised() -> None:
    assert catalog.what_fits(100_000_000, 8192).startswith("no model fits")


def test_context_beyond_a_models_own_takes_no_memory() -> None:
    entry = catalog.find("smollm2-135m")
    assert entry.memory(8192) == entry.memory(100_000)


@pytest.mark.parametrize("entry", catalog.MODELS.values(), ids=lambda entry: entry.name)
def test_what_comes_in_wheels_has_a_sum_and_the_right_number_of_parts(
    entry: catalog.Entry,
) -> None:
    assert entry.sources
    for source in entry.sources:
        if isinstance(source, WheelParts):
            assert entry.sha256 is not None
            assert -(-entry.size // source.part_bytes) == len(source.packages)


def test_hugging_face_is_tried_before_wheels() -> None:
    kinds = [type(source) for source in catalog.find("qwen2.5-coder-1.5b").sources]
    assert kinds == [HubFile, WheelParts]
