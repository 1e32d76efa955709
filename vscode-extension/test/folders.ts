/** What the extension host runs in a workspace of the folders "one" and "two". */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as vscode from "vscode";

import { serverSettings } from "../src/settings";
import {
  cleanUp,
  command,
  edit,
  extension,
  languageServers,
  messages,
  open,
  pause,
  preview,
  until,
} from "./fixtures";
import { runAll, test } from "./runner";

const TEXT = "a = 1\n";

function folder(name: string): string {
  const found = vscode.workspace.workspaceFolders?.find((one) => one.name === name);
  assert(found, name);
  return found.uri.fsPath;
}

/** Where the daemon is told that an edit of a file in that folder belongs. */
async function whereabouts(name: string): Promise<void> {
  const path = join(folder(name), "lib", "a.py");
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, TEXT);
  const { document } = await vscode.window.showTextDocument(vscode.Uri.file(path));
  await edit(document, [0, 1], "where");
  await preview(`${TEXT}${folder(name)} lib/a.py\n`);
  await command("copydraft.rejectAll");
}

/** Change the folders, until VS Code tells all extensions of it. */
async function foldersChanged(
  ...change: Parameters<typeof vscode.workspace.updateWorkspaceFolders>
): Promise<void> {
  const told = once(vscode.workspace.onDidChangeWorkspaceFolders);
  assert(vscode.workspace.updateWorkspaceFolders(...change));
  await told;
}

/** The next event, of those that are meant. */
function once<T>(event: vscode.Event<T>, meant: (one: T) => boolean = () => true): Promise<void> {
  return new Promise((resolve) => {
    const listening = event((one) => {
      if (!meant(one)) return;
      listening.dispose();
      resolve();
    });
  });
}

test("an edit belongs to the folder that its file is in", async () => {
  await extension();
  await whereabouts("one");
  await whereabouts("two");
});

test("a folder that is added to the workspace has edits of its own, too", async () => {
  const added = join(dirname(folder("one")), "three");
  await mkdir(added);
  await foldersChanged(2, 0, { uri: vscode.Uri.file(added) });
  try {
    await whereabouts("three");
  } finally {
    await foldersChanged(2, 1);
  }
});

test("a folder's settings choose no program and no model", async () => {
  const { server } = await extension();
  const inFolder = vscode.workspace.getConfiguration("copydraft", vscode.Uri.file(folder("two")));
  assert.equal(inFolder.get("model"), "/nowhere/model.gguf");
  await open(TEXT, join("..", "two", "b.py"));
  assert(server.running);
  assert.equal(serverSettings().model, "");
  assert.deepEqual(await messages(() => command("copydraft.restart")), []);
  assert(server.running);
});

test("a folder's settings that change restart nothing", async () => {
  const { server } = await extension();
  const file = join(folder("two"), ".vscode", "settings.json");
  const before = await readFile(file, "utf8");
  const [running] = await languageServers();
  const changed = once(vscode.workspace.onDidChangeConfiguration, (event) =>
    event.affectsConfiguration("copydraft.python"),
  );
  try {
    await writeFile(file, before.replace("/nowhere/python", "/elsewhere/python"));
    await changed;
    await pause();
    assert(server.running);
    assert.deepEqual(await languageServers(), [running]);
  } finally {
    await writeFile(file, before);
  }
});

test("a setting is changed in the workspace's file where that has it, else for the user", async () => {
  const settings = (): vscode.WorkspaceConfiguration =>
    vscode.workspace.getConfiguration("copydraft");
  const { Workspace } = vscode.ConfigurationTarget;
  const values = (): unknown[] => {
    const set = settings().inspect("completion");
    return [set?.globalValue, set?.workspaceValue];
  };
  await open(TEXT, join("..", "two", "b.py"));
  await command("copydraft.toggleCompletion");
  assert.deepEqual(values(), [false, undefined]);
  await command("copydraft.toggleCompletion");
  await settings().update("completion", true, Workspace);
  await command("copydraft.toggleCompletion");
  assert.deepEqual(values(), [true, false]);
  await settings().update("completion", undefined, Workspace);
});

test("a command about the repository runs in the folder of the file that is open", async () => {
  for (const name of ["two", "one"]) {
    await open(TEXT, join("..", name, "b.py"));
    await command("copydraft.indexStatus");
    const path = folder(name);
    await until(`a terminal in ${path}`, () =>
      vscode.window.terminals.some(
        ({ creationOptions }) => (creationOptions as vscode.TerminalOptions).cwd === path,
      ),
    );
  }
});

export function run(): Promise<void> {
  return runAll(cleanUp);
}
