"""Settings as editors send them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from copydraft.protocol import Generation, Sampling
from copydraft_lsp.settings import KEYS, Settings, parse


def test_nothing_sent_is_the_defaults() -> None:
    assert parse(None) == (Settings(), [])
    assert parse({}) == (Settings(), [])


def test_settings_stand_bare_or_in_their_section() -> None:
    for given in ({"model": "m"}, {"copydraft": {"model": "m"}}):
        assert parse(given) == (Settings(model="m"), [])


def test_later_settings_stand_over_earlier_ones() -> None:
    found, _ = parse({"model": "m", "strict": True}, {"copydraft": {"model": "n"}})
    assert found == Settings(model="n", strict=True)


def test_unknown_keys_are_named_and_the_rest_is_taken() -> None:
    found, warnings = parse({"modle": "m", "strict": True})
    assert found == Settings(strict=True)
    names = (
        "model, editFormat, contextTokens, strict, temperature, instructions, completion, "
        "disabledLanguages, exclude"
    )
    assert warnings == [f"copydraft has no setting 'modle'; it has {names}"]


def test_a_wrong_value_leaves_its_default_and_is_told() -> None:
    found, warnings = parse({"strict": "yes", "temperature": -1, "model": "m"})
    assert found == Settings(model="m")
    assert warnings == [
        "bad setting of copydraft: Expected `bool`, got `str` - at `$.strict`",
        "bad setting of copydraft: Expected `float` >= 0.0 - at `$.temperature`",
    ]


def test_settings_that_are_no_object_are_told() -> None:
    assert parse([1]) == (Settings(), ["the settings of copydraft are no object: [1]"])


def test_edits_are_written_as_set_here_or_in_the_config_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COPYDRAFT_EDIT_FORMAT", "plain")
    assert Settings().format() == "plain"
    assert Settings(edit_format="tool-call").format() == "tool-call"


def test_they_reach_requests() -> None:
    settings = Settings(model="m", strict=True, temperature=0.5, context_tokens=9)
    assert settings.generation("Neovim") == Generation(
        model="m",
        strict=True,
        sampling=Sampling(temperature=0.5),
        agent="Neovim",
        file_context=9,
    )


def test_documents_are_excluded_as_git_ignores_files() -> None:
    settings = Settings(exclude=["*.min.js", "/build/", "!build/keep.py", "docs/**/*.md"])
    excluded = ("a.min.js", "src/a.min.js", "build/a.py", "docs/a/b.md", "docs/b.md")
    assert all(map(settings.excludes, excluded))
    assert not any(map(settings.excludes, ("a.js", "src/build/a.py", "a/docs/b.md", "")))


def test_a_pattern_that_is_none_is_told() -> None:
    found, warnings = parse({"exclude": ["!"]})
    assert (found, warnings) == (Settings(), ["bad setting of copydraft: Invalid git pattern: '!'"])


def test_the_readme_lists_all_of_them() -> None:
    readme = Path(__file__).parents[3].joinpath("README.md").read_text("utf-8")
    table = readme.split("## Editors")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [*KEYS]
