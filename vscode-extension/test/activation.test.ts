import assert from "node:assert/strict";
import * as vscode from "vscode";

import { command, extension, until } from "./fixtures";
import { test } from "./runner";

test("the extension starts the language server", async () => {
  const { server } = await extension();
  assert(server.running);
  assert(server.has("copydraft.edit"));
});

test("every command of the manifest is there", async () => {
  const manifest = vscode.extensions.getExtension("copydraft.copydraft")?.packageJSON as {
    contributes: { commands: { command: string }[] };
  };
  const there = new Set(await vscode.commands.getCommands(true));
  const missing = manifest.contributes.commands.filter((one) => !there.has(one.command));
  assert.deepEqual(missing, []);
});

test("a restart brings a new server", async () => {
  const { server } = await extension();
  await command("copydraft.restart");
  assert(server.running);
});

test("the status bar names the model once the daemon runs", async () => {
  const { status } = await extension();
  await until("a status", () => status.text !== "");
  assert.match(status.text, /^(Copydraft|fake)/);
});

test("completion is switched off and on again in the settings", async () => {
  const value = (): unknown => vscode.workspace.getConfiguration("copydraft").get("completion");
  await command("copydraft.toggleCompletion");
  assert.equal(value(), false);
  await command("copydraft.toggleCompletion");
  assert.equal(value(), true);
});
