import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { access, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";

import {
  command,
  edit,
  gated,
  open,
  preview,
  previews,
  saved,
  type,
  until,
  warnings,
  workspace,
  writing,
} from "./fixtures";
import { test } from "./runner";

const TEXT = "top = 0\na = 1\nend = 9\n";
const NEW = "a   =   2\nb   =   3\n";

function free(): vscode.Uri {
  return vscode.Uri.file(join(workspace(), `file-${randomUUID()}.py`));
}

/** As in the explorer: the editor goes on with the file of the new name. */
async function renamed(document: vscode.TextDocument): Promise<vscode.TextDocument> {
  const change = new vscode.WorkspaceEdit();
  const target = free();
  change.renameFile(document.uri, target);
  assert(await vscode.workspace.applyEdit(change));
  return vscode.workspace.openTextDocument(target);
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  return access(uri.fsPath).then(
    () => true,
    () => false,
  );
}

test("a file that is renamed in mid-stream is not edited, nor is its old name made again", async () => {
  const { document } = await open(TEXT);
  const { uri } = document;
  const gate = gated(NEW);
  const asked = edit(document, [1, 2], gate.instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("a   =   2")),
  );
  const now = await renamed(document);
  await gate.open();
  await asked;
  await until("the preview is closed", () => previews().length === 0);
  await command("copydraft.acceptAll");
  assert.equal(now.getText(), TEXT);
  assert.equal(await readFile(now.uri.fsPath, "utf8"), TEXT);
  assert.equal(await exists(uri), false);
});

test("a file that is renamed while its edit waits for a decision is not edited", async () => {
  const { document } = await open(TEXT);
  await edit(document, [1, 2], writing(NEW));
  await preview("top = 0\na = 1\na   =   2\nb   =   3\nend = 9\n");
  const now = await renamed(document);
  await until("the preview is closed", () => previews().length === 0);
  await command("copydraft.acceptAll");
  assert.equal(now.getText(), TEXT);
});

test("a file that another program renames in mid-stream is edited in its editor only", async () => {
  const { document } = await open(TEXT);
  const gate = gated("a = 2\n\n");
  const asked = edit(document, [1, 2], gate.instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("a = 2")),
  );
  const target = free();
  await rename(document.uri.fsPath, target.fsPath);
  await gate.open();
  await asked;
  await preview("top = 0\na = 1\na = 2\n\nend = 9\n");
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), "top = 0\na = 2\n\nend = 9\n");
  assert.equal(await readFile(target.fsPath, "utf8"), TEXT);
  assert.equal(await exists(document.uri), false);
});

test("a file whose name has a space, a colon, # and % is edited", async () => {
  const { document } = await open(TEXT, `c: a#b %41 ä${randomUUID()}.py`);
  await edit(document, [1, 2], writing("a = 2\n"));
  await preview("top = 0\na = 1\na = 2\nend = 9\n");
  await command("copydraft.acceptAll");
  assert.equal(await saved(document), "top = 0\na = 2\nend = 9\n");
});

test("a file that is too large for VS Code's extensions is not taken for none", async () => {
  const uri = free();
  await writeFile(uri.fsPath, "a = 1\n".repeat(10_000_000));
  await command("vscode.open", uri);
  await until("its tab", () => {
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    return input instanceof vscode.TabInputText && input.uri.fsPath === uri.fsPath;
  });
  for (const name of ["editSelection", "explainSelection"])
    assert.deepEqual(await warnings(() => command(`copydraft.${name}`)), [
      "Copydraft: VS Code shows this file to no extension: it is too large, or it is no text.",
    ]);
  await rm(uri.fsPath);
});

test("a file that another program writes while its edit waits is not edited blindly", async () => {
  const { document } = await open(TEXT);
  await edit(document, [1, 2], writing("a = 2\n"));
  await preview("top = 0\na = 1\na = 2\nend = 9\n");
  await writeFile(document.uri.fsPath, `# one\n${TEXT}`);
  await preview("# one\ntop = 0\na = 1\na = 2\nend = 9\n");
  await command("copydraft.acceptAll");
  assert.equal(await saved(document), "# one\ntop = 0\na = 2\nend = 9\n");
});

/** Save with a formatter that puts one space around "=" and a line on top. */
async function formattingOnSave(use: () => Promise<void>): Promise<void> {
  const formatter = vscode.languages.registerDocumentFormattingEditProvider("python", {
    provideDocumentFormattingEdits: (document) => {
      const edits = document.getText().startsWith("# formatted\n")
        ? []
        : [vscode.TextEdit.insert(new vscode.Position(0, 0), "# formatted\n")];
      for (let at = 0; at < document.lineCount; at++) {
        const { text, range } = document.lineAt(at);
        const formatted = text.replace(/ +/g, " ");
        if (formatted !== text) edits.push(vscode.TextEdit.replace(range, formatted));
      }
      return edits;
    },
  });
  const editor = vscode.workspace.getConfiguration("editor");
  const { Workspace } = vscode.ConfigurationTarget;
  await editor.update("formatOnSave", true, Workspace);
  try {
    await use();
  } finally {
    await editor.update("formatOnSave", undefined, Workspace);
    formatter.dispose();
  }
}

test("an accepted edit is formatted when the user saves and not before; undo brings all back", async () => {
  await formattingOnSave(async () => {
    const { document } = await open(TEXT);
    await edit(document, [1, 2], writing(NEW));
    await preview("top = 0\na = 1\na   =   2\nb   =   3\nend = 9\n");
    await command("copydraft.acceptAll");
    assert.equal(document.getText(), "top = 0\na   =   2\nb   =   3\nend = 9\n");
    assert.equal(await saved(document), "# formatted\ntop = 0\na = 2\nb = 3\nend = 9\n");
    await vscode.window.showTextDocument(document);
    await command("undo");
    assert.equal(document.getText(), "top = 0\na   =   2\nb   =   3\nend = 9\n");
    await command("undo");
    assert.equal(document.getText(), TEXT);
  });
});

test("a formatter that runs on save in mid-stream moves the edit", async () => {
  await formattingOnSave(async () => {
    const { document } = await open(TEXT);
    await type(document, 3, "more   =   1\n");
    const gate = gated("a = 2\nb = 3\n");
    const asked = edit(document, [1, 2], gate.instruction);
    await until("the first change", () =>
      previews().some((one) => one.document.getText().includes("a = 2")),
    );
    assert.equal(await saved(document), `# formatted\n${TEXT}more = 1\n`);
    await gate.open();
    await asked;
    await preview("# formatted\ntop = 0\na = 1\na = 2\nb = 3\nend = 9\nmore = 1\n");
    await command("copydraft.acceptAll");
    assert.equal(document.getText(), "# formatted\ntop = 0\na = 2\nb = 3\nend = 9\nmore = 1\n");
  });
});

test("a cell of a notebook is edited, and no other", async () => {
  const cell = (source: string): object => ({
    cell_type: "code",
    execution_count: null,
    metadata: {},
    outputs: [],
    source: [source],
  });
  const uri = vscode.Uri.file(join(workspace(), `book-${randomUUID()}.ipynb`));
  const content = {
    cells: [cell("a = 1"), cell("a = 1")],
    metadata: { language_info: { name: "python" } },
    nbformat: 4,
    nbformat_minor: 5,
  };
  await writeFile(uri.fsPath, JSON.stringify(content));
  const notebook = await vscode.workspace.openNotebookDocument(uri);
  await vscode.window.showNotebookDocument(notebook);
  const [first, second] = notebook.getCells().map(({ document }) => document);
  assert(first && second);
  await edit(second, [0, 1], writing("a = 2"));
  await preview("a = 1\na = 2");
  await command("copydraft.acceptAll");
  await until("the preview is closed", () => previews().length === 0);
  assert.deepEqual([first.getText(), second.getText()], ["a = 1", "a = 2"]);
  assert(await notebook.save());
  const onDisk = JSON.parse(await readFile(uri.fsPath, "utf8")) as {
    cells: { source: string[] }[];
  };
  assert.deepEqual(
    onDisk.cells.map(({ source }) => source),
    [["a = 1"], ["a = 2"]],
  );
});
