"""Faults on their way over the wire."""

from __future__ import annotations

import pytest

from copydraft.api import faults
from copydraft.errors import BadRequest, ContextExceeded, CopydraftError, ModelProblem, from_wire
from copydraft.protocol import Failed


@pytest.mark.parametrize("kind", [BadRequest, ContextExceeded, ModelProblem])
def test_a_fault_is_of_the_same_kind_behind_the_wire(kind: type[CopydraftError]) -> None:
    error = Failed.of(kind("message", "hint")).error()
    assert type(error) is kind
    assert (error.message, error.hint) == ("message", "hint")


def test_a_fault_of_an_unknown_code_is_a_general_one() -> None:
    error = from_wire("from-a-later-version", "message", "hint")
    assert type(error) is CopydraftError


def test_a_conversation_too_long_for_the_context_is_a_bad_request() -> None:
    error = ContextExceeded("too long")
    assert isinstance(error, BadRequest)
    assert (error.code, error.exit_status) == ("context", 2)
    assert faults.answer(error).status_code == 400
