"""The statistics page in a real browser, with its real policy."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from copydraft.client import Client
from copydraft.protocol import EditResult, Span
from tests.e2e.vscode import host, install
from tests.fixtures.daemons import running
from tests.fixtures.fake_service import stats

SCRIPT = Path(__file__).with_name("statistics_page.mjs")

# An emoji is one code point and two units of UTF-16: offsets behind it must not be off by one.
TEXT = "# \U0001f600 <b>bold</b>\ntotal = 1\n"
AFTER_EMOJI = TEXT.index("total")
SPANS = [
    Span(start=0, end=AFTER_EMOJI, corpus="region", path="a.py"),
    Span(start=AFTER_EMOJI, end=len(TEXT) - 1, corpus="workspace", path="lib/b.py"),
    Span(start=len(TEXT) - 1, end=len(TEXT)),
]


async def look(installed: install.Installed, url: str, picture: Path) -> Any:
    """What `statistics_page.mjs` sees at `url`."""
    host.prepare_script(installed, "browser.mjs")
    script = installed.root / SCRIPT.name
    script.write_bytes(SCRIPT.read_bytes())
    with tempfile.TemporaryDirectory() as profile:
        browser = {"CHROMIUM": installed.browser, "PROFILE": profile}
        process = await asyncio.create_subprocess_exec(
            *(installed.node, script, url, picture),
            env={**os.environ, **browser},
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(output)


@pytest.mark.xdist_group("extension")  # the browser's scripts are in one place
@pytest.mark.timeout(900)  # the first time, the browser is installed
async def test_the_page_shows_where_the_last_answer_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lacking := install.missing():
        pytest.skip(lacking)
    installed = install.install()
    with tempfile.TemporaryDirectory(prefix="copydraft-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        async with running() as here, await Client.connect(start=False) as client:
            ended = stats(drafted={"region": 18, "workspace": 4}, accepted={"region": 15})
            here.store.record(ended)
            watch = here.daemon._api.last.follow("edit", "a.py")
            watch(EditResult(text=TEXT, diff="", spans=SPANS, stats=ended, answer=TEXT))
            url = (await client.open_web()).url
            seen = await look(installed, url, tmp_path / "page.png")

    assert seen["complaints"] == []
    assert seen["unnamed"] == 0
    assert seen["shift"] < 0.02
    assert "token=" not in seen["address"]
    assert seen["state"] == "fake on CPU, idle"
    assert seen["tiles"] == ["50.0", "75 %", "75 %", "68 %", seen["tiles"][4], "0"]
    copied = "copied from the code being edited, a.py: 16 characters"
    found = "copied from the workspace, lib/b.py: 9 characters"
    assert seen["parts"] == [
        ["part from region", "# \U0001f600 <b>bold</b>\n", copied],
        ["part from workspace", "total = 1", found],
        ["part novel", "\n", "newly written by the model: 1 character"],
    ]
    assert seen["origins"] == [copied, found, copied]
    assert seen["legend"] == [
        "region 62 % of the text: the code being edited",
        "workspace 35 % of the text: the workspace",
        "new 4 % of the text: newly written",
    ]
    assert seen["corpora"] == ["region", "the code being edited", "18", "15", "83 %"]
    assert seen["charts"] == [
        "20 tokens, 75 % of them copied",
        "68 % of the drafted tokens were accepted",
    ]
    assert (tmp_path / "page.png").stat().st_size > 10_000
