import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as vscode from "vscode";

import { command, edit, extension, open, preview, previews, until, writing } from "./fixtures";
import { test } from "./runner";

const TIMES = 30;
const TEXT = "a = 1\n";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Until nothing holds any of these. */
async function freed(objects: readonly WeakRef<object>[]): Promise<void> {
  const held = (): number => objects.filter((one) => one.deref()).length;
  await until(
    "all are freed",
    () => {
      collect();
      return held() === 0;
    },
    held,
  );
}

test("thirty edits leave no preview, and nothing that holds them", async () => {
  const { edits } = await extension();
  const sessions: WeakRef<object>[] = [];
  const { document } = await open(TEXT);
  for (let time = 0; time < TIMES; time++) {
    await edit(document, [0, 1], writing(`a = ${time + 2}\n`));
    await preview(`${document.getText()}a = ${time + 2}\n`);
    sessions.push(...[...edits.sessions.values()].map((one) => new WeakRef(one)));
    await command(time % 2 ? "copydraft.acceptAll" : "copydraft.rejectAll");
    await until("the preview is closed", () => previews().length === 0);
  }
  assert.equal(sessions.length, TIMES);
  await freed(sessions);
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  assert.deepEqual(
    tabs.map((tab) => tab.input instanceof vscode.TabInputText && tab.input.uri.scheme),
    ["file"],
  );
});

test("of thirty explanations one is kept, and none when it is closed", async () => {
  const { explanations } = await extension();
  const panels: WeakRef<object>[] = [];
  const views: WeakRef<object>[] = [];
  const window = vscode.window as { createWebviewPanel: unknown };
  const real = vscode.window.createWebviewPanel;
  window.createWebviewPanel = (...given: Parameters<typeof real>) => {
    const view = real(...given);
    views.push(new WeakRef(view));
    return view;
  };
  try {
    const { document } = await open(TEXT);
    for (let time = 0; time < TIMES; time++) {
      await command("copydraft.explainSelection", {
        textDocument: { uri: document.uri.toString() },
        range: { start: { line: 0, character: 0 }, end: { line: 1, character: 0 } },
        question: "slow 0\nIt is 1.\n",
      });
      assert(explanations.panel);
      panels.push(new WeakRef(explanations.panel));
    }
  } finally {
    window.createWebviewPanel = real;
  }
  await freed([...panels.slice(0, -1), ...views.slice(0, -1)]);
  const shown = (): vscode.Tab[] =>
    vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .filter(({ label }) => label.startsWith("Explain "));
  await until("one tab is shown", () => shown().length === 1);
  await vscode.window.tabGroups.close(shown());
  await freed([...panels, ...views]);
});
