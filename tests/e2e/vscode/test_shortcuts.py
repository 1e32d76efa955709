"""None of VS Code's default shortcuts is taken: compared with its own lists, for every system."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.vscode import host, install

# VS Code in a browser has the shortcuts of the system that the browser says it runs on.
USER_AGENTS = {
    "linux": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0",
    "mac": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/140.0.0.0",
    "win": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0.0.0",
}
LIMIT_S = 300.0

# Context keys that are set whenever the text of a preview has the focus.
AT_REST = {"editorTextFocus", "editorFocus", "textInputFocus", "inputFocus", "editorReadonly"}
# Those that may be set besides: a preview has no tests, breakpoints or suggestions, and is in no
# repository; menus take the focus.
AT_TIMES = {
    "callHierarchyVisible",
    "cancellableOperation",
    "comparingMovedCode",
    "editorHasMultipleSelections",
    "editorHasSelection",
    "findWidgetVisible",
    "hasSymbols",
    "isReadingLineWithInlayHints",
    "markersNavigationVisible",
    "messageVisible",
    "notificationCenterVisible",
    "notificationToastsVisible",
    "parameterHintsVisible",
    "referenceSearchVisible",
    "selectionAnchorSet",
    "typeHierarchyVisible",
}


class Shortcut(NamedTuple):
    key: str
    command: str
    when: str


def holds(literal: str, state: set[str]) -> bool:
    """Whether a part of a `when` clause holds in a preview where these context keys are set."""
    if literal.startswith("resourceScheme =~"):
        return re.search(literal.split("/")[1], "copydraft-preview") is not None
    if literal.lstrip("!").startswith("config."):
        return True  # as the user likes
    if " != " in literal:
        return True
    return literal[1:] not in state if literal.startswith("!") else literal in state


def states(when: str) -> list[set[str]]:
    """The smallest sets of context keys for which a clause holds in a preview."""
    found = []
    for alternative in when.split(" || "):
        literals = [literal for literal in alternative.split(" && ") if literal]
        state = AT_REST | AT_TIMES.intersection(literals)
        if all(holds(literal, state) for literal in literals):
            found.append(state)
    return found


def shortcuts(listed: str) -> list[Shortcut]:
    """What VS Code lists: JSON with comments, and the commands without a shortcut behind it."""
    text = re.sub(r"^\s*//.*$", "", listed, flags=re.MULTILINE)
    entries = json.loads(text[: text.rindex("]") + 1])
    return [Shortcut(one["key"], one["command"], one.get("when", "")) for one in entries]


def ours(system: str) -> list[Shortcut]:
    manifest = json.loads((install.EXTENSION / "package.json").read_text("utf-8"))
    return [
        Shortcut(one.get(system, one["key"]), one["command"], one["when"])
        for one in manifest["contributes"]["keybindings"]
    ]


@pytest.fixture(scope="session")
def defaults(installed: install.Installed, vscode_home: Path) -> dict[str, list[Shortcut]]:
    """VS Code's own shortcuts on each system."""
    home = vscode_home / "shortcuts"
    listed = home / "shortcuts.jsonc"
    environment = host.isolated(home, COPYDRAFT_TEST_SHORTCUTS=str(listed))
    environment["COPYDRAFT_TEST_ONLY"] = "^VS Code tells its default shortcuts$"
    found = {}
    opened = host.one_folder(home)
    with host.extension_host(installed, home, environment, opened, tests="index") as url:
        for system, user_agent in USER_AGENTS.items():
            status, said = host.drive(installed, home, url, LIMIT_S, user_agent)
            assert status == 0, said
            found[system] = [
                one
                for one in shortcuts(listed.read_text("utf-8"))
                if not one.command.startswith("copydraft.")
            ]
            listed.unlink()
    host.end_daemon(home)
    return found


@pytest.mark.timeout(1800)  # the first time, VS Code is installed
@pytest.mark.parametrize("system", USER_AGENTS)
def test_no_default_shortcut_is_taken(system: str, defaults: dict[str, list[Shortcut]]) -> None:
    taken = [
        (mine.key, mine.command, theirs.command, sorted(state - AT_REST))
        for mine in ours(system)
        for theirs in defaults[system]
        if theirs.key == mine.key
        for state in states(theirs.when)
        if all(holds(literal, state) for literal in mine.when.split(" && "))
    ]
    assert taken == []


@pytest.mark.timeout(1800)
def test_the_lists_are_those_of_their_systems(defaults: dict[str, list[Shortcut]]) -> None:
    keys = {
        system: {one.key for one in defaults[system] if one.command == "undo"}
        for system in USER_AGENTS
    }
    assert keys == {"linux": {"ctrl+z"}, "mac": {"cmd+z"}, "win": {"ctrl+z"}}
