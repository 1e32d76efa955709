import assert from "node:assert/strict";
import * as vscode from "vscode";

import {
  command,
  edit,
  extension,
  gated,
  messages,
  open,
  opened,
  preview,
  previews,
  type,
  until,
  withBox,
  writing,
} from "./fixtures";
import { test } from "./runner";

const TEXT = "top = 0\na = 1\nb = 2\nc = 3\nend = 9\n";
const NEW = "a = 1\nb = 20\nc = 30\n";

test("lines typed above while the model writes move the edit", async () => {
  const { document } = await open(TEXT);
  const gate = gated(NEW);
  const asked = edit(document, [1, 4], gate.instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("b = 20")),
  );
  await type(document, 0, "# one\n# two\n");
  await gate.open();
  await asked;
  await preview("# one\n# two\ntop = 0\na = 1\nb = 2\nc = 3\nb = 20\nc = 30\nend = 9\n");
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), "# one\n# two\ntop = 0\na = 1\nb = 20\nc = 30\nend = 9\n");
});

test("lines typed above when the answer is there move the edit, too", async () => {
  const { document } = await open(TEXT);
  await edit(document, [1, 4], writing(NEW));
  await until("a preview", () => previews().length > 0);
  await type(document, 0, "# one\n");
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), "# one\ntop = 0\na = 1\nb = 20\nc = 30\nend = 9\n");
});

test("an edit whose lines were changed meanwhile is dropped", async () => {
  const { document } = await open(TEXT);
  const gate = gated(NEW);
  const asked = edit(document, [1, 4], gate.instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("b = 20")),
  );
  await type(document, 2, "x");
  await asked;
  await until("the preview is closed", () => previews().length === 0);
  assert.equal(document.getText(), "top = 0\na = 1\nxb = 2\nc = 3\nend = 9\n");
});

test("a tab switch in mid-stream sends the edit to no other document", async () => {
  const { document } = await open(TEXT);
  const gate = gated(NEW);
  const asked = edit(document, [1, 4], gate.instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("b = 20")),
  );
  const other = await open("other = 1\n");
  await gate.open();
  await asked;
  await command("copydraft.acceptAll");
  assert.equal(other.document.getText(), "other = 1\n");
  assert.equal(document.getText(), TEXT);
  await vscode.window.showTextDocument(document);
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), "top = 0\na = 1\nb = 20\nc = 30\nend = 9\n");
  assert.equal(other.document.getText(), "other = 1\n");
});

test("two files are edited at once", async () => {
  const first = (await open(TEXT)).document;
  const firstGate = gated(NEW);
  const asked = edit(first, [1, 4], firstGate.instruction);
  // VS Code gives up on one of two editors that are opened in the same moment.
  await until("a preview", () => previews().length > 0);
  const second = (await open("x = 1\ny = 2\n")).document;
  const secondGate = gated("x = 10\ny = 20\n");
  const askedToo = edit(second, [0, 2], secondGate.instruction);
  await secondGate.open();
  await askedToo;
  await preview("x = 1\ny = 2\nx = 10\ny = 20\n");
  await command("copydraft.acceptAll");
  assert.equal(second.getText(), "x = 10\ny = 20\n");
  assert.equal(first.getText(), TEXT);
  await firstGate.open();
  await asked;
  await vscode.window.showTextDocument(first);
  await command("copydraft.acceptAll");
  assert.equal(first.getText(), "top = 0\na = 1\nb = 20\nc = 30\nend = 9\n");
});

test("two edits of one document do not disturb each other", async () => {
  const { document } = await open(TEXT);
  const upper = gated("top = 1\n");
  const asked = edit(document, [0, 1], upper.instruction);
  await edit(document, [4, 5], writing("end = 10\n"));
  await upper.open();
  await asked;
  for (let left = 2; left > 0; left--) {
    await vscode.window.showTextDocument(document);
    await command("copydraft.acceptAll");
  }
  assert.equal(document.getText(), "top = 1\na = 1\nb = 2\nc = 3\nend = 10\n");
});

test("a document that is closed meanwhile is not edited", async () => {
  const { document } = await opened(TEXT);
  const gate = gated(NEW);
  const asked = edit(document, [1, 4], gate.instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("b = 20")),
  );
  await vscode.window.showTextDocument(document);
  await command("workbench.action.closeActiveEditor");
  await asked;
  await until("the preview is closed", () => previews().length === 0);
  const again = await vscode.workspace.openTextDocument(document.uri);
  assert.equal(again.getText(), TEXT);
});

/** Ask for an edit of lines [1, 4), with `meanwhile` while the box is open; what users are told. */
async function asked(
  document: vscode.TextDocument,
  meanwhile: () => Promise<unknown>,
): Promise<string[]> {
  const { version } = document;
  return messages(() =>
    withBox(async (box) => {
      const editing = vscode.commands.executeCommand("copydraft.editSelection", {
        textDocument: { uri: document.uri.toString(), version },
        range: { start: { line: 1, character: 0 }, end: { line: 4, character: 0 } },
      });
      await until("a box", () => box.shown);
      await meanwhile();
      box.type("Fix it");
      box.enter();
      await editing;
    }),
  );
}

test("lines that a save formats while the instruction is asked for are edited as they are then", async () => {
  const { document } = await open("top = 0  \na = 1\nb = 2  \nc = 3\nend = 9\n");
  await type(document, 4, "more = 1\n");
  const files = vscode.workspace.getConfiguration("files");
  const { Workspace } = vscode.ConfigurationTarget;
  await files.update("trimTrailingWhitespace", true, Workspace);
  try {
    assert.deepEqual(await asked(document, () => document.save() as Promise<boolean>), []);
  } finally {
    await files.update("trimTrailingWhitespace", undefined, Workspace);
  }
  await preview("top = 0\na = 1\nb = 2\nc = 3\nfixed = True\nmore = 1\nend = 9\n");
});

test("lines that move while the instruction is asked for are followed", async () => {
  const { document } = await open(TEXT);
  assert.deepEqual(await asked(document, () => type(document, 0, "# one\n")), []);
  await preview("# one\ntop = 0\na = 1\nb = 2\nc = 3\nfixed = True\nend = 9\n");
});

test("lines that get lost while the instruction is asked for are not edited", async () => {
  const { document } = await open(TEXT);
  const all = new vscode.Range(0, 0, document.lineCount, 0);
  const change = new vscode.WorkspaceEdit();
  change.replace(document.uri, all, "other = 1\n");
  const said = await asked(document, () => vscode.workspace.applyEdit(change) as Promise<boolean>);
  assert.match(said.join(), /changed since the lines were selected/);
  await until("no preview", () => previews().length === 0);
  assert.equal(document.getText(), "other = 1\n");
});

test("lines that were changed before the edit was asked for are not edited", async () => {
  const { document } = await open(TEXT);
  const { version } = document;
  await type(document, 0, "# one\n");
  const said = await messages(async () => {
    await vscode.commands.executeCommand("copydraft.editSelection", {
      textDocument: { uri: document.uri.toString(), version },
      range: { start: { line: 1, character: 0 }, end: { line: 4, character: 0 } },
      instruction: writing(NEW),
    });
  });
  assert.match(said.join(), /changed since the lines were selected/);
  await until("no preview", () => previews().length === 0);
  assert.equal(document.getText(), `# one\n${TEXT}`);
});

test("what is typed in the moment of accepting is kept, and so is the edit", async () => {
  const { document } = await open(TEXT);
  await edit(document, [1, 4], writing(NEW));
  await until("a preview", () => previews().length > 0);
  const editor = await vscode.window.showTextDocument(document);
  editor.selection = new vscode.Selection(0, 0, 0, 0);
  await Promise.all([command("copydraft.acceptAll"), command("type", { text: "x = 0\n" })]);
  assert.equal(document.getText(), "x = 0\ntop = 0\na = 1\nb = 20\nc = 30\nend = 9\n");
});

test("a file that is deleted in mid-stream is not made again", async () => {
  const { document } = await open(TEXT);
  const gate = gated(NEW);
  const asked = edit(document, [1, 4], gate.instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("b = 20")),
  );
  const deletion = new vscode.WorkspaceEdit();
  deletion.deleteFile(document.uri);
  assert(await vscode.workspace.applyEdit(deletion));
  await gate.open();
  await asked;
  await until("the preview is closed", () => previews().length === 0);
  await assert.rejects(Promise.resolve(vscode.workspace.fs.stat(document.uri)));
});

test("of twenty edits nineteen are cancelled, and the last one is made", async () => {
  const { edits, server } = await extension();
  let busy = -1;
  const subscription = server.onBusy((count) => (busy = count));
  const rows = Array.from({ length: 20 }, (_, row) => `x${row} = 1\n`);
  const { document } = await open(rows.join(""));
  const gates = rows.map((row) => gated(row.replace("= 1", "= 2")));
  const asked = gates.map(({ instruction }, row) => edit(document, [row, row + 1], instruction));
  await until("twenty are written", () => busy === 20);
  for (const session of [...edits.sessions.values()]) if (session.start !== 19) session.reject();
  await until("one is left", () => busy === 1);
  await gates[19]?.open();
  await Promise.all(asked);
  subscription.dispose();
  await vscode.window.showTextDocument(document);
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), [...rows.slice(0, 19), "x19 = 2\n"].join(""));
});
