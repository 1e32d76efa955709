import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { command, edit, gated, open, pause, preview, previews, until, writing } from "./fixtures";
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
