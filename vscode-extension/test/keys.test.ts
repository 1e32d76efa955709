import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import * as vscode from "vscode";

import { command, until } from "./fixtures";
import { test } from "./runner";

test("VS Code tells its default shortcuts", async () => {
  await command("workbench.action.openDefaultKeybindingsFile");
  const text = await until("the list", () => {
    const shown = vscode.window.activeTextEditor?.document.getText() ?? "";
    return shown.includes("editor.action.moveLinesDownAction") && shown;
  });
  // tests/e2e/vscode/test_shortcuts.py compares them with ours, for each system.
  const file = process.env.COPYDRAFT_TEST_SHORTCUTS;
  assert(file);
  await writeFile(file, text);
});
