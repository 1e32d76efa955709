import assert from "node:assert/strict";
import * as vscode from "vscode";

import { command, open, preview, until, withBox } from "./fixtures";
import { test } from "./runner";

async function actions(editor: vscode.TextEditor, line: number): Promise<vscode.CodeAction[]> {
  return vscode.commands.executeCommand<vscode.CodeAction[]>(
    "vscode.executeCodeActionProvider",
    editor.document.uri,
    new vscode.Range(line, 0, line + 1, 0),
  );
}

test("a diagnostic is fixed by its code action, in a preview", async () => {
  const problems = vscode.languages.createDiagnosticCollection("test");
  try {
    const editor = await open("a = 1\nb = c\n");
    const where = new vscode.Range(1, 4, 1, 5);
    problems.set(editor.document.uri, [new vscode.Diagnostic(where, "c is not defined")]);
    const found = await actions(editor, 1);
    const fix = found.find(({ title }) => title === "Fix with copydraft: c is not defined");
    assert(fix?.command);
    await command(fix.command.command, ...(fix.command.arguments as unknown[]));
    await preview("a = 1\nb = c\nfixed = True\n");
    assert.equal(editor.document.getText(), "a = 1\nb = c\n");
  } finally {
    problems.dispose();
  }
});

test("the code action for an edit asks for the instruction", async () => {
  const editor = await open("a = 1\nb = 2\n");
  const found = await actions(editor, 0);
  const action = found.find(({ title }) => title === "copydraft: edit the selection…")?.command;
  assert(action);
  await withBox(async (box) => {
    const asked = command(action.command, ...(action.arguments as unknown[]));
    await until("a box", () => box.shown);
    box.type("Fix it");
    box.enter();
    await asked;
  });
  await preview("a = 1\nfixed = True\nb = 2\n");
});

test("an explanation is offered as a code action", async () => {
  const editor = await open("a = 1\nb = 2\n");
  const titles = (await actions(editor, 0)).map(({ title }) => title);
  assert(titles.includes("copydraft: explain the selection"));
  assert(titles.includes("copydraft: edit the selection…"));
});

test("a completion is shown where it was asked for", async () => {
  const { document } = await open("a = 1 # echo and more");
  const editor = await vscode.window.showTextDocument(document);
  const end = new vscode.Position(0, document.lineAt(0).text.length);
  editor.selection = new vscode.Selection(end, end);
  await command("editor.action.inlineSuggest.trigger");
  await until("the completion", () => {
    void vscode.commands.executeCommand("editor.action.inlineSuggest.commit");
    return document.getText() !== "a = 1 # echo and more";
  });
  assert.equal(document.getText(), "a = 1 # echo and moreand more");
});
