import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import * as vscode from "vscode";

import { run } from "../src/programs";
import { asShell, runInTerminal } from "../src/terminal";
import { command, open, pause, type, until } from "./fixtures";
import { test } from "./runner";

/** What a command says in its terminal, whose input ends at once. */
async function said(...words: [string, ...string[]]): Promise<string> {
  const [first, ...args] = words;
  const { shellPath, shellArgs } = asShell({ command: first, args, env: {} });
  return (await run({ command: shellPath, args: shellArgs, env: {} }, [])).stdout;
}

test("a command in a terminal saves nothing that the user has not saved", async () => {
  const { document } = await open("a = 1\n");
  await type(document, 0, "b = 2\n");
  await command("copydraft.daemonStatus");
  const terminal = await until("a terminal", () =>
    vscode.window.terminals.find(({ name }) => name.includes("Daemon Status")),
  );
  await terminal.processId;
  assert(document.isDirty);
  assert.equal(await readFile(document.uri.fsPath, "utf8"), "a = 1\n");
});

test("a command runs in the workspace's folder, with its words as they are", async () => {
  await command("copydraft.indexStatus");
  const { creationOptions } = await until("a terminal", () =>
    vscode.window.terminals.find(({ name }) => name === "Copydraft: Index Status"),
  );
  const options = creationOptions as vscode.TerminalOptions;
  assert.equal(options.cwd, vscode.workspace.workspaceFolders?.[0]?.uri.fsPath);
  assert.deepEqual(options.shellArgs?.slice(-2), ["index", "status"]);
});

test("no shell takes the words of a command apart", async () => {
  assert.match(await said("printf", "<%s>", "a  b", "$HOME", "'*'"), /^<a {2}b><\$HOME><'\*'>\n/);
});

test("what a command said stays in its terminal, with how it ended", async () => {
  assert.equal(
    await said("sh", "-c", "echo one; exit 3"),
    "one\n\nIt ended with status 3. Ctrl+C closes this terminal.\n",
  );
});

test("a command that still runs in its terminal is not begun again", async () => {
  await runInTerminal("test", { command: "sleep", args: ["60"], env: {} });
  const [before] = await until("a terminal", () => named().length === 1 && named());
  await runInTerminal("test", { command: "sleep", args: ["60"], env: {} });
  await pause();
  assert.deepEqual(named(), [before]);
});

test("a command that still runs in one folder is begun in another", async () => {
  await runInTerminal("test", { command: "sleep", args: ["60"], env: {} }, "/tmp");
  await runInTerminal("test", { command: "sleep", args: ["60"], env: {} }, "/");
  await until("two terminals", () => named().length === 2);
});

test("a command that has ended takes the terminal of the one before when it is run again", async () => {
  await runInTerminal("test", { command: "true", args: [], env: {} });
  const [before] = await until("a terminal", () => named().length === 1 && named());
  while (named()[0] === before) {
    await runInTerminal("test", { command: "true", args: [], env: {} });
    await pause();
  }
  await until("one terminal", () => named().length === 1 && named()[0] !== before);
});

function named(): vscode.Terminal[] {
  return vscode.window.terminals.filter(({ name }) => name === "test");
}
