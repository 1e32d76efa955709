"""Defaults that depend on where the model runs."""

from __future__ import annotations

import pytest

from copydraft.config import Config
from copydraft.defaults import context_for, file_context_for


@pytest.mark.parametrize(
    ("on_card", "context", "of_file"), [(False, 8192, 1536), (True, 32768, 12288)]
)
def test_a_card_has_room_for_more(on_card: bool, context: int, of_file: int) -> None:
    assert context_for(Config(), on_card=on_card) == context
    assert file_context_for(Config(), on_card=on_card) == of_file


@pytest.mark.parametrize("on_card", [False, True])
def test_what_the_user_set_goes_before_any_default(on_card: bool) -> None:
    config = Config(context=5000, file_context=700)
    assert context_for(config, on_card=on_card) == 5000
    assert file_context_for(config, on_card=on_card) == 700
