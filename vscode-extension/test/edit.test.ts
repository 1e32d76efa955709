import assert from "node:assert/strict";
import * as vscode from "vscode";

import {
  command,
  edit,
  gated,
  extension,
  open,
  preview,
  previews,
  saved,
  statusMessages,
  until,
  writing,
} from "./fixtures";
import { test } from "./runner";

const TEXT = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n";
const NEW = "a = 1\nb = 20\nc = 3\nd = 4\nnew = 0\ne = 50\n";
const MERGED = "a = 1\nb = 2\nb = 20\nc = 3\nd = 4\ne = 5\nnew = 0\ne = 50\n";

test("an edit is shown beside the lines it replaces, and the document stays as it is", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 5], writing(NEW));
  await preview(MERGED);
  assert.equal(document.getText(), TEXT);
  assert(!document.isDirty);
});

test("lines are shown while the model still writes", async () => {
  const { document } = await open(TEXT);
  const gate = gated(NEW);
  const asked = edit(document, [0, 5], gate.instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("b = 20")),
  );
  assert.equal(document.getText(), TEXT);
  await gate.open();
  await asked;
  await preview(MERGED);
});

test("accepting all makes the edit, and the preview goes", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 5], writing(NEW));
  await preview(MERGED);
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), NEW);
  await until("the preview is closed", () => previews().length === 0);
  assert.equal(vscode.window.activeTextEditor?.document, document);
  assert.equal(await saved(document), NEW);
});

test("the walkthrough's edit is done when one was accepted, and no earlier", async () => {
  const { document } = await open(TEXT);
  const set: unknown[] = [];
  const commands = vscode.commands as { executeCommand: unknown };
  const real = vscode.commands.executeCommand;
  commands.executeCommand = (name: string, ...args: unknown[]) => {
    if (name === "setContext" && args[0] !== "copydraft.previewVisible") set.push(args);
    return real(name, ...args);
  };
  try {
    await edit(document, [0, 5], writing(NEW));
    await preview(MERGED);
    assert.deepEqual(set, []);
    await command("copydraft.acceptAll");
    assert.deepEqual(set, [["copydraft.editAccepted", true]]);
  } finally {
    commands.executeCommand = real;
  }
  const { contributes } = vscode.extensions.getExtension("copydraft.copydraft")?.packageJSON as {
    contributes: { walkthroughs: { steps: { id: string; completionEvents: string[] }[] }[] };
  };
  const steps = contributes.walkthroughs.flatMap((one) => one.steps);
  assert.deepEqual(steps.find(({ id }) => id === "try")?.completionEvents, [
    "onContext:copydraft.editAccepted",
  ]);
});

test("one undo brings every byte back", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 5], writing(NEW));
  await preview(MERGED);
  await command("copydraft.acceptAll");
  await until("the preview is closed", () => previews().length === 0);
  await vscode.window.showTextDocument(document);
  await command("undo");
  assert.equal(document.getText(), TEXT);
});

test("rejecting all leaves the document untouched", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 5], writing(NEW));
  await preview(MERGED);
  await command("copydraft.rejectAll");
  await until("the preview is closed", () => previews().length === 0);
  assert.equal(document.getText(), TEXT);
  assert(!document.isDirty);
});

test("a hunk is accepted alone, the rest stays to be decided", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 5], writing(NEW));
  const editor = await preview(MERGED);
  editor.selection = new vscode.Selection(6, 0, 6, 0);
  await command("copydraft.acceptHunk");
  await preview("a = 1\nb = 2\nb = 20\nc = 3\nd = 4\nnew = 0\ne = 50\n");
  assert.equal(document.getText(), "a = 1\nb = 2\nc = 3\nd = 4\nnew = 0\ne = 50\n");
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), NEW);
});

test("a hunk is rejected alone, the rest can be accepted", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 5], writing(NEW));
  const editor = await preview(MERGED);
  editor.selection = new vscode.Selection(2, 0, 2, 0);
  await command("copydraft.rejectHunk");
  await preview("a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nnew = 0\ne = 50\n");
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), "a = 1\nb = 2\nc = 3\nd = 4\nnew = 0\ne = 50\n");
});

test("a key that is pressed twice does not accept what takes the hunk's place", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 5], writing(NEW));
  const editor = await preview(MERGED);
  editor.selection = new vscode.Selection(1, 0, 1, 0);
  await command("copydraft.acceptHunk");
  await command("copydraft.acceptHunk");
  assert.equal(document.getText(), "a = 1\nb = 20\nc = 3\nd = 4\ne = 5\n");
});

test("code lenses accept and reject every hunk", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 5], writing(NEW));
  const editor = await preview(MERGED);
  const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
    "vscode.executeCodeLensProvider",
    editor.document.uri,
    20,
  );
  const accepts = lenses.filter(({ command: what }) => what?.command === "copydraft.acceptHunk");
  assert.deepEqual(
    accepts.map(({ range }) => range.start.line),
    [1, 5],
  );
  const second = accepts[1]?.command;
  assert(second);
  await command(second.command, ...(second.arguments as unknown[]));
  assert.equal(document.getText(), "a = 1\nb = 2\nc = 3\nd = 4\nnew = 0\ne = 50\n");
});

test("lenses tell first what can be done and how far the edit is, for narrow columns cut them off", async () => {
  const { document } = await open(TEXT);
  const gate = gated(NEW);
  const asked = edit(document, [0, 5], gate.instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("b = 20")),
  );
  const titles = async (): Promise<string[]> =>
    (await lensesOf(previews()[0])).map(({ title }) => title);
  const [stop, tokens] = await titles();
  assert.equal(stop, "$(debug-stop) Stop");
  assert.match(tokens ?? "", /^\$\(loading~spin\) \d+ tokens · gate /);
  await gate.open();
  await asked;
  const [accept, reject, changes] = await titles();
  assert.deepEqual([accept, reject], ["$(check-all) Accept All", "$(close-all) Reject All"]);
  assert.match(changes ?? "", /^2 changes · gate /);
});

/** The commands of the lenses in an editor. */
async function lensesOf(editor: vscode.TextEditor | undefined): Promise<vscode.Command[]> {
  assert(editor);
  const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
    "vscode.executeCodeLensProvider",
    editor.document.uri,
    20,
  );
  return lenses.flatMap(({ command: what }) => what ?? []);
}

test("a running edit is cancelled, and the next one runs", async () => {
  const { document } = await open(TEXT);
  const gate = gated(NEW);
  const asked = edit(document, [0, 5], gate.instruction);
  await until("a preview", () => previews().length > 0);
  await command("copydraft.rejectAll");
  await asked;
  await until("the preview is closed", () => previews().length === 0);
  assert.equal(document.getText(), TEXT);
  await edit(document, [0, 5], writing(NEW));
  await preview(MERGED);
});

test("what is still being written is neither accepted nor rejected in part, and that is said", async () => {
  const { document } = await open(TEXT);
  const gate = gated(NEW);
  const asked = edit(document, [0, 5], gate.instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("b = 20")),
  );
  const [editor] = previews();
  assert(editor);
  editor.selection = new vscode.Selection(2, 0, 2, 0);
  for (const name of ["acceptAll", "acceptHunk", "rejectHunk"])
    assert.deepEqual(await statusMessages(() => command(`copydraft.${name}`)), [
      "Copydraft: the edit is still being written",
    ]);
  await gate.open();
  await asked;
  await preview(MERGED);
  assert.equal(document.getText(), TEXT);
});

test("all that is being written is stopped at once, and how much that was is said", async () => {
  const { document } = await open(TEXT);
  const asked = edit(document, [0, 5], gated(NEW).instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("b = 20")),
  );
  const stopAll = (): Promise<string[]> => statusMessages(() => command("copydraft.stopAll"));
  assert.deepEqual(await stopAll(), ["Copydraft: stopped 1"]);
  await asked;
  await until("the preview is closed", () => previews().length === 0);
  assert.deepEqual(await stopAll(), ["Copydraft: there is nothing to stop"]);
});

test("closing the preview rejects the edit", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 5], writing(NEW));
  await preview(MERGED);
  await command("workbench.action.closeActiveEditor");
  await until("the preview is closed", () => previews().length === 0);
  await vscode.window.showTextDocument(document);
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), TEXT);
});

test("an answer that changes nothing opens nothing", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 5], writing(TEXT));
  await until("no preview", () => previews().length === 0);
  assert(!document.isDirty);
});

test("the diff editor shows the same edit", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 5], writing(NEW));
  await preview(MERGED);
  await command("copydraft.openDiff");
  const proposed = await until("the diff editor", () =>
    vscode.workspace.textDocuments.find(({ uri }) => uri.scheme === "copydraft-proposed"),
  );
  assert.equal(proposed.getText(), NEW);
});

test("an edit is accepted in the diff editor, whole or change by change", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 5], writing(NEW));
  await preview(MERGED);
  await command("copydraft.openDiff");
  const editor = await until("the diff editor", () => proposal());
  editor.selection = new vscode.Selection(5, 0, 5, 0);
  await command("copydraft.acceptHunk");
  assert.equal(document.getText(), "a = 1\nb = 2\nc = 3\nd = 4\nnew = 0\ne = 50\n");
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), NEW);
  await until("all is closed", () => previews().length === 0 && !proposal());
});

test("the next and the previous change are found in the document itself, too", async () => {
  const editor = await open(TEXT);
  await edit(editor.document, [0, 5], writing(NEW));
  await preview(MERGED);
  const again = await vscode.window.showTextDocument(editor.document);
  again.selection = new vscode.Selection(1, 0, 1, 0);
  await command("copydraft.nextHunk");
  assert.equal(again.selection.active.line, 4);
  await command("copydraft.previousHunk");
  assert.equal(again.selection.active.line, 1);
});

/** The active editor, where it shows the edited text of a diff. */
function proposal(): vscode.TextEditor | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor?.document.uri.scheme === "copydraft-proposed" ? editor : undefined;
}

test("an edit that waits for a decision outlives a change of the document's language", async () => {
  const { document } = await open(TEXT);
  await edit(document, [0, 5], writing(NEW));
  await preview(MERGED);
  await vscode.languages.setTextDocumentLanguage(document, "ruby");
  assert.equal(document.languageId, "ruby");
  await preview(MERGED);
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), NEW);
});

test("an edit that is being written outlives a change of the document's language", async () => {
  const { document } = await open(TEXT);
  const gate = gated(NEW);
  const asked = edit(document, [0, 5], gate.instruction);
  await until("the first change", () =>
    previews().some((one) => one.document.getText().includes("b = 20")),
  );
  await vscode.languages.setTextDocumentLanguage(document, "ruby");
  await gate.open();
  await asked;
  await preview(MERGED);
  await command("copydraft.acceptAll");
  assert.equal(document.getText(), NEW);
});

test("the server is told a language that was changed while the model wrote", async () => {
  const settings = vscode.workspace.getConfiguration("copydraft");
  const { Workspace } = vscode.ConfigurationTarget;
  await settings.update("disabledLanguages", ["ruby"], Workspace);
  try {
    const { document } = await open(TEXT);
    assert.notDeepEqual(await actions(document), []);
    const gate = gated(NEW);
    const asked = edit(document, [0, 5], gate.instruction);
    await until("a preview", () => previews().length > 0);
    await vscode.languages.setTextDocumentLanguage(document, "ruby");
    await gate.open();
    await asked;
    assert.deepEqual(await actions(document), []);
  } finally {
    await settings.update("disabledLanguages", undefined, Workspace);
  }
});

/** The code actions that the server offers for the first line. */
async function actions(document: vscode.TextDocument): Promise<unknown[]> {
  const { server } = await extension();
  const position = { line: 0, character: 0 };
  const answer = await server.request<unknown[]>("textDocument/codeAction", {
    textDocument: { uri: document.uri.toString() },
    range: { start: position, end: { line: 1, character: 0 } },
    context: { diagnostics: [] },
  });
  return answer ?? [];
}
