"""Faults as a client meets them."""

from __future__ import annotations

import asyncio
import logging
from typing import NoReturn

import pytest
from lsprotocol.types import ErrorCodes, LSPErrorCodes
from pygls.exceptions import JsonRpcException

from copydraft.errors import AnswerRefused, BadRequest, CopydraftError
from copydraft_lsp.faults import answered, as_answer


def test_a_fault_is_one_line_with_what_to_do() -> None:
    answer = as_answer(AnswerRefused("it is empty", "say more"))
    assert answer.message == "it is empty (say more)"
    assert answer.code == LSPErrorCodes.RequestFailed
    assert answer.data == {"code": "answer-refused", "message": "it is empty", "hint": "say more"}


def test_a_bad_request_is_one_of_the_clients() -> None:
    assert as_answer(BadRequest("no")).code == ErrorCodes.InvalidParams
    assert as_answer(BadRequest("no")).message == "no"


async def test_a_bug_is_told_without_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    @answered
    async def handler() -> NoReturn:
        raise ValueError("secret")

    with caplog.at_level(logging.ERROR), pytest.raises(JsonRpcException) as caught:
        await handler()
    assert caught.value.message == (
        "the language server met a fault of its own: ValueError "
        "(its traceback is in the editor's log of copydraft-lsp)"
    )
    assert caught.value.data
    assert caught.value.data["code"] == CopydraftError.code
    assert "secret" in caplog.text


async def test_a_cancelled_request_stays_cancelled() -> None:
    @answered
    async def handler() -> NoReturn:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await handler()
