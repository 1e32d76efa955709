"""Sessions with the real server, over a daemon without a model."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fixtures.daemons import Running
from tests.fixtures.editor import Editor, editing


@pytest.fixture
async def editor(daemon: Running) -> AsyncIterator[Editor]:
    async with editing() as session:
        yield session
