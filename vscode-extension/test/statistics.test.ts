import assert from "node:assert/strict";
import { join } from "node:path";
import * as vscode from "vscode";

import { DaemonReader, page } from "../src/statistics";
import { command, edit, extension, open, until, writing } from "./fixtures";
import { test } from "./runner";

interface Last {
  kind: string;
  text: string;
  stats: { output_tokens: number } | null;
}

function files(): string {
  const path = vscode.extensions.getExtension("copydraft.copydraft")?.extensionPath ?? "";
  return join(path, "..", "daemon", "copydraft", "web");
}

test("the statistics open in a view of their own, once", async () => {
  await open("a = 1\n");
  await command("copydraft.showStatistics");
  await command("copydraft.showStatistics");
  const views = (): vscode.Tab[] =>
    vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .filter((tab) => tab.label === "Copydraft Statistics");
  await until("a view", () => views().length > 0);
  assert.equal(views().length, 1);
});

test("the page may load nothing and runs only its own scripts", async () => {
  const html = await page(files());
  const [, nonce = ""] = /nonce-([\w-]+)'/.exec(html) ?? [];
  assert(
    html.includes(
      `content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'"`,
    ),
  );
  assert(!html.includes("{{"));
  assert.notEqual(html, await page(files()));
});

test("the page reads the last answer from the daemon", async () => {
  const { server } = await extension();
  const { document } = await open("a = 1\n");
  await edit(document, [0, 1], writing("a = 2\n"));
  const reader = new DaemonReader(server);
  const last = (await reader.read("/v1/last")) as Last;
  assert.deepEqual([last.kind, last.text], ["edit", "a = 2\n"]);
  const status = (await reader.read("/v1/status")) as { model: { name: string } };
  assert.equal(status.model.name, "fake");
});

test("the page can read nothing else, and change nothing", async () => {
  const reader = new DaemonReader((await extension()).server);
  for (const path of ["/v1/stop", "/v1/unload", "/metrics", "/v1/stats/../stop", "/v1/last#"])
    await assert.rejects(reader.read(path), { message: `the page may not read ${path}` });
});

test("the page is told when no daemon runs, and starts none", async () => {
  const stopped = { running: true, ask: () => Promise.resolve({ daemon: null }) };
  const reader = new DaemonReader(stopped as never);
  await assert.rejects(reader.read("/v1/status"), {
    message: "no daemon runs; the next request starts one",
  });
});

test("the page finds the daemon again after its end", async () => {
  const { server } = await extension();
  const gone = {
    running: true,
    ask: () => Promise.resolve({ daemon: { socket: "/nowhere.sock" } }),
  };
  let now: unknown = gone;
  const reader = new DaemonReader(
    new Proxy({}, { get: (_, name) => Reflect.get(now as object, name) as unknown }) as never,
  );
  await assert.rejects(reader.read("/v1/status"), /no daemon runs/);
  now = { running: true, ask: (name: string) => server.ask(name) };
  await until("a daemon", () => server.running);
  assert((await reader.read("/v1/status")) !== null);
});
