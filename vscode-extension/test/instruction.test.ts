import assert from "node:assert/strict";
import type * as vscode from "vscode";

import { askFor, History } from "../src/instruction";
import { withBox } from "./fixtures";
import { test } from "./runner";

function memento(): vscode.Memento {
  const values = new Map<string, unknown>();
  return {
    keys: () => [...values.keys()],
    get: <T>(key: string, otherwise?: T) => (values.has(key) ? values.get(key) : otherwise) as T,
    update: (key: string, value: unknown) => {
      values.set(key, value);
      return Promise.resolve();
    },
  };
}

test("instructions are kept, the latest first and each once", async () => {
  const history = new History(memento(), "instructions");
  for (const entry of ["one", "two", "one"]) await history.add(entry);
  assert.deepEqual(history.entries, ["one", "two"]);
});

test("of the instructions, the fifty latest are kept", async () => {
  const history = new History(memento(), "instructions");
  for (let count = 1; count <= 60; count++) await history.add(`${count}`);
  assert.equal(history.entries.length, 50);
  assert.equal(history.entries[0], "60");
});

test("Enter right behind the last key takes what was typed", async () => {
  await withBox(async (box) => {
    const history = new History(memento(), "instructions");
    await history.add("an earlier one");
    const said = askFor("title", "", history);
    box.activeItems = box.items;
    box.type("a new one");
    box.enter();
    assert.equal(await said, "a new one");
  });
});

test("Enter takes the item that was moved to", async () => {
  await withBox(async (box) => {
    const history = new History(memento(), "instructions");
    for (const entry of ["one", "two"]) await history.add(entry);
    const said = askFor("title", "", history);
    box.activeItems = box.items.slice(1);
    box.enter();
    assert.equal(await said, "one");
  });
});

test("an instruction that was escaped is none", async () => {
  await withBox(async (box) => {
    const said = askFor("title", "", new History(memento(), "instructions"));
    box.hide();
    assert.equal(await said, undefined);
  });
});
