import assert from "node:assert/strict";
import { chmod } from "node:fs/promises";
import * as vscode from "vscode";

import { command, edit, open, preview, previews, saved, until, withBox, writing } from "./fixtures";
import { test } from "./runner";

async function accepted(text: string, lines: [number, number], answer: string): Promise<string> {
  const { document } = await open(text);
  await edit(document, lines, writing(answer));
  await until("a preview", () => previews().length > 0);
  await command("copydraft.acceptAll");
  return saved(document);
}

test("CRLF stays CRLF, byte for byte", async () => {
  const now = await accepted("a = 1\r\nb = 2\r\nc = 3\r\n", [1, 2], "b = 20\r\nnew = 0\r\n");
  assert.equal(now, "a = 1\r\nb = 20\r\nnew = 0\r\nc = 3\r\n");
});

test("columns behind emoji and combining marks are right", async () => {
  const now = await accepted('s = "😀é" + x  # μ😀\nt = 1\n', [0, 1], 's = "😀é" + yy  # μ😀!\n');
  assert.equal(now, 's = "😀é" + yy  # μ😀!\nt = 1\n');
});

test("a missing final newline stays missing", async () => {
  assert.equal(await accepted("a = 1\nb = 2", [1, 2], "b = 20"), "a = 1\nb = 20");
});

test("a file of one line is edited in its columns", async () => {
  assert.equal(await accepted("print('a')", [0, 1], "print('ab')"), "print('ab')");
});

test("a byte order mark stays", async () => {
  assert.equal(await accepted("\ufeffa = 1\nb = 2\n", [0, 1], "a = 10\n"), "\ufeffa = 10\nb = 2\n");
});

test("an untitled file is edited, and stays untitled", async () => {
  const document = await vscode.workspace.openTextDocument({
    language: "python",
    content: "a = 1\n",
  });
  await vscode.window.showTextDocument(document);
  await edit(document, [0, 1], writing("a = 2\n"));
  const shown = await until("a preview", () => previews()[0]);
  assert.equal(shown.document.languageId, "python");
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), "a = 2\n");
  assert(document.isUntitled);
});

test("two untitled files are told apart", async () => {
  const documents = [];
  for (const content of ["a = 1\n", "b = 1\n"]) {
    const document = await vscode.workspace.openTextDocument({ language: "python", content });
    await vscode.window.showTextDocument(document);
    await edit(document, [0, 1], writing(content.replace("1", "2")));
    documents.push(document);
  }
  for (const document of documents) {
    await vscode.window.showTextDocument(document);
    await command("copydraft.acceptAll");
  }
  assert.deepEqual(
    documents.map((document) => document.getText()),
    ["a = 2\n", "b = 2\n"],
  );
});

/** What the preview shows of an edit of what is selected, whose answer is `fixed = True`. */
async function fixed(text: string, selection: vscode.Selection, expected: string): Promise<void> {
  const editor = await open(text);
  editor.selection = selection;
  await withBox(async (box) => {
    const asked = command("copydraft.editSelection");
    await until("a box", () => box.shown);
    box.type("Fix it");
    box.enter();
    await asked;
  });
  await preview(expected);
}

test("a part of a line that is selected stands for the whole line", async () => {
  const selection = new vscode.Selection(1, 4, 1, 5);
  await fixed("a = 1\nb = 2\nc = 3\n", selection, "a = 1\nb = 2\nfixed = True\nc = 3\n");
});

test("a selection that ends at a line's start does not include that line", async () => {
  const selection = new vscode.Selection(0, 3, 1, 0);
  await fixed("a = 1\nb = 2\nc = 3\n", selection, "a = 1\nfixed = True\nb = 2\nc = 3\n");
});

test("in a file of mixed line ends, the edit takes those that VS Code saves it with", async () => {
  const now = await accepted("a = 1\r\nb = 2\nc = 3\r\n", [1, 2], "b = 20\nnew = 0\n");
  assert.equal(now, "a = 1\r\nb = 20\r\nnew = 0\r\nc = 3\r\n");
});

test("a read-only file is refused before the model is asked", async () => {
  const { document } = await open("a = 1\n");
  await chmod(document.uri.fsPath, 0o444);
  await edit(document, [0, 1], writing("a = 2\n"));
  assert.equal(previews().length, 0);
  assert.equal(document.getText(), "a = 1\n");
});

test("a file that the settings make read-only is refused", async () => {
  const { document } = await open("a = 1\n", "locked.py");
  const files = vscode.workspace.getConfiguration("files");
  await files.update(
    "readonlyInclude",
    { "**/locked.py": true },
    vscode.ConfigurationTarget.Workspace,
  );
  try {
    await edit(document, [0, 1], writing("a = 2\n"));
    assert.equal(previews().length, 0);
  } finally {
    await files.update("readonlyInclude", undefined, vscode.ConfigurationTarget.Workspace);
  }
});

test("no edit is formatted or saved by accepting it", async () => {
  const { document } = await open("a = 1\n");
  await edit(document, [0, 1], writing("a   =   2\n"));
  await until("a preview", () => previews().length > 0);
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), "a   =   2\n");
  assert(document.isDirty);
});
