import assert from "node:assert/strict";
import * as vscode from "vscode";

import type { Server } from "../src/client";
import { OF_MACHINE } from "../src/settings";
import { StatusBar } from "../src/status";
import { command, edit, extension, open, until, writing } from "./fixtures";
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

test("the settings of the machine are those that the manifest calls so", () => {
  const manifest = vscode.extensions.getExtension("copydraft.copydraft")?.packageJSON as {
    contributes: { configuration: { properties: Record<string, { scope?: string }> } };
  };
  const { properties } = manifest.contributes.configuration;
  const named = Object.keys(properties).filter(
    (key) => properties[key]?.scope === "machine-overridable",
  );
  assert.deepEqual(
    named,
    OF_MACHINE.map((key) => `copydraft.${key}`),
  );
});

test("a restart brings a new server", async () => {
  const { server } = await extension();
  await command("copydraft.restart");
  assert(server.running);
});

test("the status bar names the model, and what an answer cost as soon as it is here", async () => {
  const { status } = await extension();
  const { document } = await open("a = 1\n");
  await edit(document, [0, 1], writing("a = 2\n"));
  await until("the model's name", () => status.state() === "idle, fake on CPU");
  assert.match(status.text, /^fake · \d+ t\/s · \d+ % copied$/);
});

test("completion is switched off and on again in the settings", async () => {
  const value = (): unknown => vscode.workspace.getConfiguration("copydraft").get("completion");
  await command("copydraft.toggleCompletion");
  assert.equal(value(), false);
  await command("copydraft.toggleCompletion");
  assert.equal(value(), true);
});

test("a setting is changed where it is set: the workspace's wins", async () => {
  const settings = (): vscode.WorkspaceConfiguration =>
    vscode.workspace.getConfiguration("copydraft");
  const { Workspace } = vscode.ConfigurationTarget;
  await settings().update("completion", true, Workspace);
  try {
    await command("copydraft.toggleCompletion");
    assert.equal(settings().get("completion"), false);
    assert.equal(settings().inspect("completion")?.globalValue ?? true, true);
  } finally {
    await settings().update("completion", undefined, Workspace);
  }
});

test("the status bar tells what is wrong with the daemon, and that it was not needed yet", async () => {
  let problem = "the daemon is another version";
  const never = new vscode.EventEmitter<never>().event;
  const server = {
    running: true,
    onRunning: never,
    onBusy: never,
    ask: () => Promise.resolve({ daemon: null, problem }),
  };
  const bar = new StatusBar(server as unknown as Server);
  try {
    await bar.refresh();
    assert.equal(bar.state(), problem);
    problem = "no daemon is running (`copydraft daemon start` starts one)";
    await bar.refresh();
    assert.equal(bar.state(), "idle, no daemon runs yet");
  } finally {
    bar.dispose();
  }
});

test("before copydraft is set up, the status bar offers that and shows no fault", () => {
  const never = new vscode.EventEmitter<never>().event;
  const server = {
    running: false,
    lacksSetUp: true,
    problem: "it is not set up yet.",
    onRunning: never,
    onBusy: never,
  };
  const bar = new StatusBar(server as unknown as Server);
  try {
    assert.equal(bar.text, "Copydraft · set up");
    assert.equal(bar.state(), "not set up yet");
  } finally {
    bar.dispose();
  }
});
