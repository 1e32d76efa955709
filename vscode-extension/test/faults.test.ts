import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";

import { buttonsOf, Fault } from "../src/faults";
import { QuietClient } from "../src/launch";
import {
  command,
  edit,
  extension,
  gated,
  languageServers,
  messages,
  open,
  pause,
  preview,
  previews,
  until,
  workspace,
  writing,
} from "./fixtures";
import { test } from "./runner";

const TEXT = "a = 1\n";

/** The daemon's process, as its lock file names it. */
async function daemon(): Promise<number> {
  const directory = process.env.XDG_RUNTIME_DIR;
  assert(directory);
  const lock = await readFile(join(directory, "copydraft", "daemon.lock"), "utf8");
  const found = /\d+/.exec(lock);
  assert(found);
  return Number(found[0]);
}

test("an answer that is refused changes nothing, and the next edit works", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 1], "refuse");
  await until("no preview", () => previews().length === 0);
  assert.equal(document.getText(), TEXT);
  await edit(document, [0, 1], writing("a = 2\n"));
  await preview("a = 1\na = 2\n");
});

test("an edit that lacks its model offers to choose one, and names no command of a terminal", async () => {
  const { document } = await open(TEXT);
  const buttons: string[][] = [];
  const said = await messages(() => Promise.resolve(edit(document, [0, 1], "lack")), buttons);
  assert.deepEqual(said, ["Copydraft: m is not downloaded"]);
  assert.deepEqual(buttons, [["Choose Model…", "Show Logs", "Doctor"]]);
});

test("a fault of versions offers to restart both, one of the daemon's to restart that", () => {
  const titles = (code: string): string[] => buttonsOf(new Fault("", code)).map(([title]) => title);
  assert.deepEqual(titles("version"), ["Restart", "Restart Daemon", "Show Logs"]);
  assert.deepEqual(titles("daemon"), ["Restart Daemon", "Show Logs", "Doctor"]);
  assert.deepEqual(titles("file"), ["Show Logs", "Doctor"]);
});

test("a daemon that is killed in mid-stream ends the edit, and the next one starts it again", async () => {
  const { document } = await open(TEXT);
  const asked = edit(document, [0, 1], gated("a = 2\nb = 3\n").instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("a = 2")),
  );
  process.kill(await daemon(), "SIGKILL");
  await asked;
  await until("the preview is closed", () => previews().length === 0);
  assert.equal(document.getText(), TEXT);
  await edit(document, [0, 1], writing("a = 2\n"));
  await preview("a = 1\na = 2\n");
});

test("a restart in mid-stream ends the edit, and the next one works", async () => {
  const { document } = await open(TEXT);
  const asked = edit(document, [0, 1], gated("a = 2\nb = 3\n").instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("a = 2")),
  );
  await command("copydraft.restart");
  await asked;
  await until("the preview is closed", () => previews().length === 0);
  await pause();
  await edit(document, [0, 1], writing("a = 2\n"));
  await preview("a = 1\na = 2\n");
});

test("a language server that is killed in mid-stream ends the edit with a message, and is back", async () => {
  const { document } = await open(TEXT);
  const said = await messages(async () => {
    const asked = edit(document, [0, 1], gated("a = 2\nb = 3\n").instruction);
    await until("the first change", () =>
      previews().some((one) => one.document.getText().includes("a = 2")),
    );
    await killServer();
    await asked;
  });
  assert.deepEqual(said, ["Copydraft: the language server ended"]);
  await until("the preview is closed", () => previews().length === 0);
  assert.equal(document.getText(), TEXT);
  await edit(document, [0, 1], writing("a = 2\n"));
  await preview("a = 1\na = 2\n");
});

test("a daemon that does not answer is named, and used again when it does", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 1], writing("a = 2\n"));
  await preview("a = 1\na = 2\n");
  await command("copydraft.rejectAll");
  const id = await daemon();
  process.kill(id, "SIGSTOP");
  try {
    const said = await messages(async () => {
      await edit(document, [0, 1], writing("a = 3\n"));
    });
    assert.match(said.join(), new RegExp(`the daemon \\(process ${id}.*\\) does not answer`));
  } finally {
    process.kill(id, "SIGCONT");
  }
  assert.equal(document.getText(), TEXT);
  await edit(document, [0, 1], writing("a = 3\n"));
  await preview("a = 1\na = 3\n");
});

test("an edit that waits for a decision outlives the language server", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 1], writing("a = 2\n"));
  await preview("a = 1\na = 2\n");
  await killServer();
  const { server } = await extension();
  await until("another server", () => server.running);
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), "a = 2\n");
});

test("edits and restarts while the server starts leave one server", async () => {
  const { document } = await open(TEXT);
  const { server } = await extension();
  const restarting = command("copydraft.restart");
  await until("it starts", () => !server.running);
  const asked = edit(document, [0, 1], writing("a = 2\n"));
  await Promise.all([restarting, command("copydraft.restart"), asked]);
  assert(server.running);
  await until("the old ones are gone", () => server.has("copydraft.edit"));
  for (let left = 200; left > 0 && (await languageServers()).length !== 1; left--) await pause();
  assert.equal((await languageServers()).length, 1);
});

test("what a server that has ended was to be told is no fault", async () => {
  const gone = new QuietClient("gone", "Gone", () => Promise.reject(new Error("gone")), {});
  await assert.rejects(gone.start());
  await gone.sendNotification("textDocument/didChange", {});
});

/** What users are told, and offered, where that command is to start the server. */
async function told(serverCommand: string[]): Promise<[string[], string[][]]> {
  const { server, status } = await extension();
  const settings = vscode.workspace.getConfiguration("copydraft");
  const given = settings.get("server.command");
  const set = (value: unknown): Thenable<void> =>
    settings.update("server.command", value, vscode.ConfigurationTarget.Workspace);
  const buttons: string[][] = [];
  try {
    const said = await messages(async (so) => {
      await set(serverCommand);
      await until("a message", () => so.length > 0);
    }, buttons);
    assert.equal(status.state(), server.problem);
    return [said, buttons];
  } finally {
    await set(given);
    await until("the server is back", () => server.running);
  }
}

test("a server that ends at once is told of, with how it ended", async () => {
  const [said, buttons] = await told(["/bin/sh", "-c", "head -c 1000 > /dev/null; exit 3"]);
  assert.match(said.join(), /the language server does not start/);
  assert.deepEqual(buttons, [["Restart", "Show Logs", "Doctor"]]);
});

test("where the server's command is not there, a set-up is offered", async () => {
  const [said, buttons] = await told(["/nowhere/copydraft-lsp"]);
  assert.deepEqual(said, [
    "Copydraft: the language server does not start: /nowhere/copydraft-lsp: spawn /nowhere/copydraft-lsp ENOENT",
  ]);
  assert.deepEqual(buttons, [["Set Up", "Choose Python…", "Show Logs"]]);
});

test("a server's command that is gone from the settings for a moment restarts nothing", async () => {
  const { server, programs } = await extension();
  const [running] = await languageServers();
  const settings = (): vscode.WorkspaceConfiguration =>
    vscode.workspace.getConfiguration("copydraft");
  const file = join(workspace(), ".vscode", "settings.json");
  const before = await readFile(file, "utf8");
  const { ms } = programs;
  // However slow this machine is, the moment is shorter.
  programs.ms = 30_000;
  const said = await messages(async () => {
    try {
      await writeFile(file, "");
      await until("it is gone", () => settings().get<string[]>("server.command")?.length === 0);
      await pause(200);
      assert.deepEqual(await languageServers(), [running]);
    } finally {
      programs.ms = ms;
      await writeFile(file, before);
      await until("it is back", () => settings().get<string[]>("server.command")?.length === 2);
    }
    await pause(2 * ms);
  });
  assert.deepEqual(said, []);
  assert(server.running);
  assert.deepEqual(await languageServers(), [running]);
});

async function killServer(): Promise<void> {
  const [server] = await languageServers();
  assert(server);
  process.kill(server, "SIGKILL");
}
