import assert from "node:assert/strict";
import * as vscode from "vscode";

import { command, extension, gated, open, until, warnings, withPage } from "./fixtures";
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
  assert(explanations.html.includes("<strong>adds</strong>"));
  assert(explanations.html.includes('data-line="0"'));
  await until("a panel beside the code", () => vscode.window.tabGroups.all.length === 2);
});

test("a question goes on in the same conversation", async () => {
  const { explanations } = await extension();
  await explained("slow 0\nFirst answer.\n");
  await explanations.ask("slow 0\nSecond answer.\n");
  assert(explanations.html.includes("First answer."));
  assert(explanations.html.includes("Second answer."));
});

test("closing the panel stops the explanation", async () => {
  const { explanations, server } = await extension();
  let busy = -1;
  const subscription = server.onBusy((count) => (busy = count));
  const gate = gated("One.\nTwo.\n");
  const asked = explained(gate.instruction);
  await until("some of the answer", () => explanations.html.includes("One."));
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
    assert.deepEqual(
      page.shown?.turns.map(({ problem, buttons }) => [problem, buttons]),
      [["m is not downloaded", ["Choose Model…", "Show Logs", "Doctor"]]],
    );
    page.say({ type: "help", turn: 0, button: 2 });
    await until("the doctor", () =>
      vscode.window.terminals.some(({ name }) => name === "Copydraft: Doctor"),
    );
    page.dispose();
  });
});
