"""Explanations and statistics without a mouse, and as a screen reader is told of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.vscode import host, install
from tests.e2e.vscode.code_server import user

FILE = "a.py"
LIMIT_S = 300

EXPLANATION = """\
- document:
  - banner:
    - heading "a.py, line 1" [level=1]:
      - button "a.py, line 1"
  - main:
    - heading "Explanation" [level=2]
    - 'heading "echo `total` is 1" [level=2]'
    - paragraph:
      - button "total":
        - code: total
      - text: is 1
  - status
  - textbox "Ask on":
    - /placeholder: Ask on about these lines
  - button "Ask"
"""


@pytest.fixture(scope="module")
def seen(installed: install.Installed, vscode_home: Path, shots: Path) -> dict[str, Any]:
    """What `keyboard.mjs` saw."""
    home = vscode_home / "keyboard"
    opened = host.one_folder(home)
    (opened["folder"] / FILE).write_text("total = 1\n")
    with host.extension_host(installed, home, host.isolated(home), opened) as url:
        wishes = {"SHOTS": str(shots), "LIMIT_MS": str(LIMIT_S * 1000)}
        with user(installed, home, "keyboard.mjs", url, FILE, **wishes) as process:
            printed, _ = process.communicate()
    host.end_daemon(home)
    found: dict[str, Any] = json.loads(printed)
    assert "fault" not in found, found["fault"]
    return found


pytestmark = pytest.mark.timeout(1800)  # the first time, VS Code is installed


def test_an_explanation_is_told_with_its_questions_as_headings(seen: dict[str, Any]) -> None:
    assert seen["explanation"] + "\n" == EXPLANATION


def test_a_screen_reader_is_told_that_an_answer_is_written_and_not_of_every_token(
    seen: dict[str, Any],
) -> None:
    assert "- status: The answer is being written." in seen["writing"]
    assert "tokens" not in seen["writing"]
    assert '- button "Stop"' in seen["writing"]


def test_the_focus_goes_to_the_question_where_its_button_is_gone(seen: dict[str, Any]) -> None:
    assert (seen["asked"], seen["stopped"], seen["again"]) == ("question", "question", "question")


def test_the_focus_stays_in_the_code_where_a_button_goes_meanwhile(seen: dict[str, Any]) -> None:
    assert seen["elsewhere"] != "IFRAME"


def test_all_of_the_statistics_is_reached_by_tab(seen: dict[str, Any]) -> None:
    assert seen["stops"] == ["answer", "The last answer as a table", "kind", "days"]


def test_the_statistics_have_headings_for_sections_rows_and_columns(seen: dict[str, Any]) -> None:
    told = seen["statistics"]
    assert re.findall(r'- region "(.*)":', told) == [
        "Now",
        "The last answer, by where it was copied from",
        "Over time",
        "By kind, corpus and model",
        "Index and machine",
    ]
    assert 'rowheader "device"' in told
    assert re.findall(r"- (?:row|column)header$", told, flags=re.MULTILINE) == []


def test_the_palette_has_no_command_of_a_preview_where_none_is(seen: dict[str, Any]) -> None:
    assert "Copydraft: Explain Selection" in seen["commands"]
    assert [title for title in seen["commands"] if "Change" in title] == []
