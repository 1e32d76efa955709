import assert from "node:assert/strict";
import * as vscode from "vscode";

import { NotSetUp } from "../src/environment";
import { HelpfulError } from "../src/faults";
import { began } from "../src/welcome";
import { command, extension, messages, until, warnings } from "./fixtures";
import { test } from "./runner";

const configuration = (): vscode.WorkspaceConfiguration =>
  vscode.workspace.getConfiguration("copydraft");

/** Have the user's own copydraft named as it was after `act`. */
async function restoring(act: () => Promise<void>): Promise<void> {
  const { server } = await extension();
  const { Global, Workspace } = vscode.ConfigurationTarget;
  const before = configuration().get("server.command");
  try {
    await act();
  } finally {
    await configuration().update("python", undefined, Global);
    await configuration().update("server.command", before, Workspace);
    await until("the server is back", () => server.running);
  }
}

test("a set-up that fails leaves the copydraft of the user's own in use", async () => {
  const before = configuration().get("server.command");
  await restoring(async () => {
    let said: string[] = [];
    const warned = await warnings(async () => {
      said = await messages(() => command("copydraft.setUp"));
    }, "Set Up");
    assert.deepEqual(warned, [
      "The setting copydraft.server.command names a copydraft of your own. Set up another one and use it?",
    ]);
    assert.deepEqual(said, [
      "Copydraft: this extension was not packaged: set copydraft.python instead",
    ]);
    assert.deepEqual(configuration().get("server.command"), before);
  });
});

test("a Python that is chosen is used, though a server's command was named before", async () => {
  const [python = ""] = configuration().get<string[]>("server.command", []);
  const window = vscode.window as { showOpenDialog: unknown };
  const real = window.showOpenDialog;
  window.showOpenDialog = () => Promise.resolve([vscode.Uri.file(python)]);
  try {
    await restoring(async () => {
      const warned = await warnings(() => command("copydraft.choosePython"), "Use It");
      assert.deepEqual(warned, [
        "The setting copydraft.server.command names a copydraft of your own. Use that Python's instead?",
      ]);
      assert.equal(configuration().get("python"), python);
      assert.deepEqual(configuration().get("server.command"), []);
    });
  } finally {
    window.showOpenDialog = real;
  }
});

test("who has seen the walkthrough and set nothing up yet gets no message with every window", async () => {
  const context = {
    globalState: { get: () => true },
  } as unknown as vscode.ExtensionContext;
  const said = await messages(async () => {
    await began(context, new NotSetUp());
    await began(context, new HelpfulError("its environment is broken", []));
  });
  assert.deepEqual(said, ["Copydraft: its environment is broken"]);
});
