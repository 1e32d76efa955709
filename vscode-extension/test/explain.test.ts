import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";

import {
  command,
  extension,
  type FakePage,
  gated,
  open,
  type,
  until,
  warnings,
  withPage,
  workspace,
} from "./fixtures";
import { test } from "./runner";

async function explained(question: string): Promise<void> {
  const { document } = await open("def add(a, b):\n    return a + b\n");
  await vscode.commands.executeCommand("copydraft.explainSelection", {
    textDocument: { uri: document.uri.toString() },
    range: { start: { line: 0, character: 0 }, end: { line: 2, character: 0 } },
    question,
  });
}

test("an explanation is rendered beside the code", async () => {
  const { explanations } = await extension();
  await explained("slow 0\nIt **adds** with `add`.\n");
  assert(explanations.panel?.html.includes("<strong>adds</strong>"));
  assert(explanations.panel?.html.includes('data-line="0"'));
  await until("a panel beside the code", () => vscode.window.tabGroups.all.length === 2);
});

test("a question goes on in the same conversation", async () => {
  const { explanations } = await extension();
  await explained("slow 0\nFirst answer.\n");
  await explanations.panel?.ask("slow 0\nSecond answer.\n");
  assert(explanations.panel?.html.includes("First answer."));
  assert(explanations.panel?.html.includes("Second answer."));
});

test("closing the panel stops the explanation", async () => {
  const { explanations, server } = await extension();
  let busy = -1;
  const subscription = server.onBusy((count) => (busy = count));
  const gate = gated("One.\nTwo.\n");
  const asked = explained(gate.instruction);
  await until("some of the answer", () => explanations.panel?.html.includes("One."));
  await command("workbench.action.closeEditorsInOtherGroups");
  await asked;
  subscription.dispose();
  assert.equal(busy, 0);
});

test("a view is not explained, and its user is told where to ask", async () => {
  const contents = vscode.workspace.registerTextDocumentContentProvider("test", {
    provideTextDocumentContent: () => "a = 1\n",
  });
  try {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse("test:/a.py"));
    const editor = await vscode.window.showTextDocument(document);
    editor.selection = new vscode.Selection(0, 0, 1, 0);
    const warned = await warnings(() => command("copydraft.explainSelection"));
    assert.deepEqual(warned, ["Copydraft: this is a view. Select the lines in the file itself."]);
    assert.equal(vscode.window.tabGroups.all.length, 1);
  } finally {
    contents.dispose();
  }
});

test("an explanation that lacks its model offers to choose one, where it would stand", async () => {
  await withPage(async (page) => {
    await explained("lack");
    assert.deepEqual(said(page), [
      ["m is not downloaded", ["Choose Model…", "Show Logs", "Doctor", "Try Again"]],
    ]);
    page.say({ type: "help", turn: 0, button: 2 });
    await until("the doctor", () =>
      vscode.window.terminals.some(({ name }) => name === "Copydraft: Doctor"),
    );
    page.dispose();
  });
});

test("an explanation that was stopped can be asked for again", async () => {
  await withPage(async (page) => {
    const gate = gated("One.\nTwo.\n");
    const asked = explained(gate.instruction);
    await until("some of the answer", () => page.shown?.turns[0]?.html.includes("One."));
    page.say({ type: "stop" });
    await asked;
    assert.deepEqual(said(page), [["stopped", ["Try Again"]]]);
    await gate.open();
    page.say({ type: "help", turn: 0, button: 0 });
    await until("the answer", () => page.shown?.turns[0]?.html.includes("Two."));
    await until("its end", () => page.shown?.turns[0]?.problem === "");
    page.dispose();
  });
});

test("an explanation that is asked for again is about its lines, wherever they are by then", async () => {
  await withPage(async (page) => {
    const gate = join(workspace(), `gate-${randomUUID()}`);
    await explained(`lines ${gate}`);
    const [editor] = vscode.window.visibleTextEditors;
    assert(editor);
    await type(editor.document, 0, "# above\n");
    await writeFile(gate, "");
    page.say({ type: "help", turn: 0, button: 3 });
    await until("the answer", () => page.shown?.turns[0]?.html.includes("lines 2 to 3"));
    page.dispose();
  });
});

test("a conversation that the server has forgotten is begun anew where it is asked again", async () => {
  const { explanations } = await extension();
  await withPage(async (page) => {
    await explained("slow 0\nFirst answer.\n");
    await command("copydraft.restart");
    await explanations.panel?.ask("slow 0\nSecond answer.\n");
    const problem = "this explanation cannot be asked on about any more (explain again)";
    assert.deepEqual(said(page)[1], [problem, ["Show Logs", "Doctor", "Try Again"]]);
    page.say({ type: "help", turn: 1, button: 2 });
    await until("the answer", () => page.shown?.turns[1]?.html.includes("Second answer."));
    page.dispose();
  });
});

/** The problem of each turn, and its buttons. */
function said(page: FakePage): [string, string[]][] {
  return page.shown?.turns.map(({ problem, buttons }) => [problem, buttons]) ?? [];
}
