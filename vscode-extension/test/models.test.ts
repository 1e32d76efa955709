import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as vscode from "vscode";

import { chooseModel, itemsOf, listModels, type Model } from "../src/models";
import { script } from "./environment.test";
import { command, pause } from "./fixtures";
import { test } from "./runner";

const MODEL: Model = {
  name: "small",
  description: "Quick",
  parameters: "0.5B",
  license: "Apache-2.0",
  size: 491_000_000,
  memory: 1_200_000_000,
  fits: true,
  active: false,
  path: null,
  partial_bytes: 0,
};

const configuration = (): vscode.WorkspaceConfiguration =>
  vscode.workspace.getConfiguration("copydraft");

test("models that are here come first, those that do not fit last", () => {
  const items = itemsOf([
    { ...MODEL, name: "huge", fits: false },
    MODEL,
    { ...MODEL, name: "here", path: "/m.gguf", active: true },
  ]);
  assert.deepEqual(
    items.map((item) => item.label),
    ["$(check) here", "$(cloud-download) small", "$(warning) huge"],
  );
  assert.deepEqual(
    items.map((item) => item.description),
    [
      "in use · 491 MB file · needs 1.2 GB of memory · downloaded",
      "491 MB file · needs 1.2 GB of memory · not downloaded",
      "491 MB file · needs 1.2 GB of memory, more than this machine has · not downloaded",
    ],
  );
});

test("the model that is to be used leads those like it, and is not in use before it is here", () => {
  const items = itemsOf([MODEL, { ...MODEL, name: "default", active: true }]);
  assert.deepEqual(
    items.map(({ label, description }) => [label, description?.split(" · ")[0]]),
    [
      ["$(cloud-download) default", "the one to be used"],
      ["$(cloud-download) small", "491 MB file"],
    ],
  );
});

test("an unfinished download says how much of it is here", () => {
  const [item] = itemsOf([{ ...MODEL, partial_bytes: 120_000_000 }]);
  assert.match(item?.description ?? "", /120 MB of it downloaded$/);
});

test("the list is the one of the installation's command line", async () => {
  const [python = ""] = configuration().get<string[]>("server.command", []);
  const cli = { command: join(dirname(python), "copydraft"), args: [], env: {} };
  const names = (await listModels(cli)).map((model) => model.name);
  assert(names.includes("qwen2.5-coder-0.5b"));
});

test("a fault of the list is told as the command line tells it", async () => {
  const cli = await script("copydraft", "echo 'copydraft: the disk is full' >&2; exit 8");
  await assert.rejects(listModels({ command: cli, args: [], env: {} }), {
    message: "the disk is full",
  });
});

test("choosing a model downloads it and sets it", async () => {
  const models = JSON.stringify({ models: [MODEL] });
  const progress = JSON.stringify({ stage: "downloading", source: "there", done: 1, total: 2 });
  const cli = await script(
    "copydraft",
    `case "$2" in\nlist) echo '${models}';;\npull) echo '${progress}' >&2; echo "$@" > "$0.pulled";;\nesac`,
  );
  try {
    const log = { info: () => undefined } as unknown as vscode.LogOutputChannel;
    const choosing = chooseModel({ command: cli, args: [], env: {} }, log);
    while (configuration().get("model") !== "small") {
      await pause(200);
      await command("workbench.action.acceptSelectedQuickOpenItem");
    }
    await choosing;
    assert.equal(
      await readFile(`${cli}.pulled`, "utf8"),
      "model pull small --json --json-progress\n",
    );
  } finally {
    await configuration().update("model", undefined, vscode.ConfigurationTarget.Global);
  }
});

test("a download that fails can be gone on with from the message", async () => {
  const models = JSON.stringify({ models: [MODEL] });
  const cli = await script(
    "copydraft",
    `case "$2" in\nlist) echo '${models}';;\npull) echo "copydraft: no network" >&2; exit 7;;\nesac`,
  );
  const log = { info: () => undefined } as unknown as vscode.LogOutputChannel;
  const choosing = chooseModel({ command: cli, args: [], env: {} }, log);
  const failed = assert.rejects(choosing, {
    message: "no network",
    buttons: [
      ["Choose Model…", "copydraft.chooseModel"],
      ["Show Logs", "copydraft.showLogs"],
      ["Doctor", "copydraft.doctor"],
    ],
  });
  while (await Promise.race([failed.then(() => false), pause(200).then(() => true)]))
    await command("workbench.action.acceptSelectedQuickOpenItem");
  assert.equal(configuration().get("model"), "");
});
