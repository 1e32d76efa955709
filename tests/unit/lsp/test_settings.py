"""Settings as editors send them."""

from __future__ import annotations

import pytest

from copydraft.protocol import Generation, Sampling
from copydraft_lsp.settings import Settings, parse


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
    names = "model, editFormat, strict, temperature, instructions, disabledLanguages"
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
    settings = Settings(model="m", strict=True, temperature=0.5)
    assert settings.generation("Neovim") == Generation(
        model="m", strict=True, sampling=Sampling(temperature=0.5), agent="Neovim"
    )
