"""The manifest of the VS Code extension: its settings are the server's, its keys are its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from copydraft_lsp.settings import KEYS, Settings

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "vscode-extension"
MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text("utf-8"))
CONTRIBUTES = MANIFEST["contributes"]
PROPERTIES = CONTRIBUTES["configuration"]["properties"]
OF_THE_EXTENSION = {"copydraft.python", "copydraft.server.command"}


def test_the_settings_are_those_of_the_server_and_of_the_readme() -> None:
    settings = [name.removeprefix("copydraft.") for name in PROPERTIES if name in _of_the_server()]
    source = (EXTENSION / "src/settings.ts").read_text("utf-8")
    readme = (ROOT / "README.md").read_text("utf-8")
    assert settings == [*KEYS]
    assert re.findall(r'^  "(\w+)",$', source, re.MULTILINE) == [*KEYS]
    assert [key for key in KEYS if f"`{key}`" not in readme] == []


def test_no_other_setting_is_there() -> None:
    assert set(PROPERTIES) - _of_the_server() == OF_THE_EXTENSION


def test_their_defaults_are_the_servers() -> None:
    defaults = msgspec.to_builtins(Settings())
    assert {key: PROPERTIES[f"copydraft.{key}"]["default"] for key in KEYS} == defaults


def test_all_settings_are_typed_and_described() -> None:
    for setting in PROPERTIES.values():
        assert setting["type"]
        assert len(setting.get("enumItemLabels", ())) == len(setting.get("enum", ()))
        assert setting.get("description") or setting["markdownDescription"]


def test_settings_that_depend_on_the_machine_are_kept_on_it() -> None:
    """With VS Code Remote, those of the local machine would name what the remote one lacks."""
    of_the_machine = {"copydraft.model", *OF_THE_EXTENSION}
    scopes = {name: setting["scope"] for name, setting in PROPERTIES.items()}
    assert {name for name in scopes if scopes[name] == "machine-overridable"} == of_the_machine


def test_keys_are_bound_in_the_preview_only_where_nothing_can_be_typed() -> None:
    assert CONTRIBUTES["keybindings"]
    for binding in CONTRIBUTES["keybindings"]:
        assert "resourceScheme =~ /^copydraft-(preview|proposed)$/" in binding["when"]


def test_commands_that_cannot_always_run_are_hidden_where_they_cannot() -> None:
    """The palette leaves out those that are not enabled by itself."""
    hidden = {entry["command"] for entry in CONTRIBUTES["menus"]["commandPalette"]}
    of_a_folder = {"indexStatus", "indexRebuild", "profileRepository"}
    of_an_editor = {"editSelection", "explainSelection"}
    assert hidden == {f"copydraft.{name}" for name in of_a_folder | of_an_editor}


def test_commands_of_a_preview_are_enabled_in_it_alone() -> None:
    enabled = {
        one["command"]: one["enablement"] for one in CONTRIBUTES["commands"] if "enablement" in one
    }
    all_or_one = {f"{act}{what}" for act in ("accept", "reject") for what in ("All", "Hunk")}
    names = all_or_one | {"nextHunk", "previousHunk", "showPreview", "openDiff"}
    assert enabled == {f"copydraft.{name}": "copydraft.previewVisible" for name in names}


def test_every_entry_of_a_menu_says_when_it_is_shown() -> None:
    entries = [entry for menu in CONTRIBUTES["menus"].values() for entry in menu]
    assert [entry["command"] for entry in entries if not entry.get("when")] == []


def test_commands_have_the_extensions_name_and_category() -> None:
    for command in CONTRIBUTES["commands"]:
        assert command["command"].startswith("copydraft.")
        assert command["category"] == "Copydraft"


def test_no_command_has_the_name_of_one_of_the_servers() -> None:
    """The language client registers those under their names in VS Code."""
    of_the_server = {f"copydraft.{name}" for name in ("edit", "explain", "cancel", "status")}
    ours = {command["command"] for command in CONTRIBUTES["commands"]}
    assert not ours & {*of_the_server, "copydraft.prepare"}


def test_lock_files_name_no_registry() -> None:
    for lock in (EXTENSION, ROOT / "tests/e2e/vscode/host"):
        assert '"resolved"' not in (lock / "package-lock.json").read_text("utf-8")


def _of_the_server() -> set[str]:
    return {f"copydraft.{key}" for key in KEYS}
