import assert from "node:assert/strict";
import type * as vscode from "vscode";

import { History } from "../src/instruction";
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
