"""The service without a model that daemons in tests have."""

from __future__ import annotations

import queue

import pytest

from copydraft.protocol import EditResult, Event, Failed
from tests.fixtures.daemons import edit
from tests.fixtures.fake_service import FakeService


def last(service: FakeService, instruction: str) -> Event:
    """The event that ends a request."""
    events: queue.Queue[Event] = queue.Queue()
    service.submit(edit(instruction), events.put)
    while not isinstance(event := events.get(), EditResult | Failed):
        pass
    return event


@pytest.mark.parametrize("instruction", ["unheard of", "flood much"])
def test_an_instruction_that_it_cannot_follow_is_answered_and_so_is_the_next(
    instruction: str,
) -> None:
    service = FakeService()
    failed = last(service, instruction)
    assert isinstance(failed, Failed)
    assert failed.message == f"the fake service cannot follow '{instruction}'"
    assert isinstance(last(service, "echo x"), EditResult)
    service.stop()
