"""Edits in every answer format on a real engine, from the request to the lines in their place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from copydraft.config import Config
from copydraft.emission.format import EmissionFormat
from copydraft.protocol import EditRequest
from tests.fixtures.edits import formats
from tests.fixtures.serving import REGION, TEXT, Serving

NEW = "a = 1\nb = 22\nprint(a + b)\n"

FENCE, SEARCH, DIFF, CALL, _, PLAIN = formats("a.py", TEXT)


@pytest.mark.parametrize("form", [FENCE, SEARCH, DIFF, CALL, PLAIN], ids=lambda form: form.name)
@pytest.mark.parametrize("as_setting", [False, True], ids=["asked for", "set"])
def test_an_edit_is_asked_for_and_read_in_its_format(
    form: EmissionFormat, as_setting: bool, answering_model: Callable[..., Path]
) -> None:
    answer = form.emit(TEXT, NEW).removeprefix(form.opening)
    model = answering_model(answer, after=form.opening or "<|im_start|>assistant\n")
    name = form.name
    config = Config(
        model=str(model), context=2048, threads=1, edit_format=name if as_setting else "fence"
    )
    serving = Serving(model, config)
    request = EditRequest(region=REGION, instruction="set b", format="" if as_setting else name)
    result = serving.submit(request, hold=False).edit()
    serving.scheduler.stop()
    assert result.answer == form.opening + answer
    assert result.text == NEW
    assert sum(result.stats.accepted.values()) > 0
