/** What the tests do to VS Code, and what they see of it. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";

import type { Api } from "../src/extension";

const POLL_MS = 20;
const LIMIT_MS = 25_000;

export async function extension(): Promise<Api> {
  const found = vscode.extensions.getExtension<Api>("copydraft.copydraft");
  assert(found);
  const api = await found.activate();
  await api.server.start();
  return api;
}

export function workspace(): string {
  const folder = vscode.workspace.workspaceFolders?.[0];
  assert(folder);
  return folder.uri.fsPath;
}

/** Until `condition` holds; what it returns then. If it never does, `instead` tells what there is. */
export async function until<T>(
  what: string,
  condition: () => T | undefined | false,
  instead?: () => unknown,
): Promise<T> {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    const value = condition();
    if (value !== undefined && value !== false) return value;
    if (Date.now() > end) {
      const there = instead ? `; there is ${JSON.stringify(instead())}` : "";
      throw new Error(`it never came to pass: ${what}${there}`);
    }
    await pause();
  }
}

export function pause(ms = POLL_MS): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A new file of that text, in the editor. */
export async function open(
  text: string,
  name = `file-${randomUUID()}.py`,
): Promise<vscode.TextEditor> {
  const path = join(workspace(), name);
  await writeFile(path, text);
  return vscode.window.showTextDocument(vscode.Uri.file(path), { preview: false });
}

/** As `open`, by a click of the user's: what an extension opens itself stays open for minutes. */
export async function opened(text: string): Promise<vscode.TextEditor> {
  const path = join(workspace(), `file-${randomUUID()}.py`);
  await writeFile(path, text);
  await vscode.commands.executeCommand("vscode.open", vscode.Uri.file(path));
  return until("an editor", () =>
    vscode.window.visibleTextEditors.find(({ document }) => document.uri.fsPath === path),
  );
}

/** The command on lines [start, end); resolves when the answer is here. */
export function edit(
  document: vscode.TextDocument,
  lines: [number, number],
  instruction: string,
): Thenable<void> {
  return vscode.commands.executeCommand("copydraft.editSelection", {
    textDocument: { uri: document.uri.toString() },
    range: { start: { line: lines[0], character: 0 }, end: { line: lines[1], character: 0 } },
    instruction,
  });
}

/** Has the fake daemon write `text` at once. */
export function writing(text: string): string {
  return `slow 0\n${text}`;
}

/** Has the fake daemon write `text`, whose last line waits until the gate is opened. */
export function gated(text: string): { instruction: string; open: () => Promise<void> } {
  const gate = join(workspace(), `gate-${randomUUID()}`);
  return {
    instruction: `gate ${gate}\n${text}`,
    open: () => writeFile(gate, ""),
  };
}

export function previews(): vscode.TextEditor[] {
  return vscode.window.visibleTextEditors.filter(
    ({ document }) => document.uri.scheme === "copydraft-preview",
  );
}

/** The preview that is shown, once its text is `text`. */
export function preview(text: string): Promise<vscode.TextEditor> {
  return until(
    `a preview of ${JSON.stringify(text)}`,
    () => previews().find(({ document }) => document.getText() === text),
    () => previews().map(({ document }) => document.getText()),
  );
}

export async function command(name: string, ...args: unknown[]): Promise<void> {
  await vscode.commands.executeCommand(name, ...args);
}

export async function saved(document: vscode.TextDocument): Promise<string> {
  assert(await document.save());
  const bytes = await vscode.workspace.fs.readFile(document.uri);
  return Buffer.from(bytes).toString("utf8");
}

/** Type at a place, as another edit of the user's. */
export async function type(
  document: vscode.TextDocument,
  line: number,
  text: string,
): Promise<void> {
  const change = new vscode.WorkspaceEdit();
  change.insert(document.uri, new vscode.Position(line, 0), text);
  assert(await vscode.workspace.applyEdit(change));
}

/** Nothing open, nothing pending. */
export async function cleanUp(): Promise<void> {
  const { edits } = await extension();
  for (const session of [...edits.sessions.values()]) session.reject();
  for (const document of vscode.workspace.textDocuments)
    if (document.isDirty) {
      await vscode.window.showTextDocument(document);
      await command("workbench.action.revertAndCloseActiveEditor");
    }
  await command("workbench.action.closeAllEditors");
  for (const terminal of vscode.window.terminals) terminal.dispose();
  await until("no terminal", () => vscode.window.terminals.length === 0);
}

/** The processes of language servers that the extension has started. */
export async function languageServers(): Promise<number[]> {
  const found: number[] = [];
  for (const entry of await readdir("/proc")) {
    const words = await readFile(`/proc/${entry}/cmdline`, "utf8").catch(() => "");
    if (words.includes("fake_server.py") && (await parent(entry)) === process.pid)
      found.push(Number(entry));
  }
  return found;
}

async function parent(id: string): Promise<number> {
  const status = await readFile(`/proc/${id}/status`, "utf8").catch(() => "");
  return Number(/^PPid:\s*(\d+)$/m.exec(status)?.[1]);
}

/** A box that a test types into, in place of VS Code's. */
export class FakeBox {
  value = "";
  items: readonly vscode.QuickPickItem[] = [];
  activeItems: readonly vscode.QuickPickItem[] = [];
  shown = false;
  private readonly values = new vscode.EventEmitter<string>();
  private readonly accepts = new vscode.EventEmitter<void>();
  private readonly hides = new vscode.EventEmitter<void>();
  readonly onDidChangeValue = this.values.event;
  readonly onDidAccept = this.accepts.event;
  readonly onDidHide = this.hides.event;

  type(value: string): void {
    this.value = value;
    this.values.fire(value);
  }

  enter(): void {
    this.accepts.fire();
  }

  show(): void {
    this.shown = true;
  }

  hide(): void {
    this.hides.fire();
  }

  dispose(): void {
    this.shown = false;
  }
}

/** Do something with boxes that a test answers: `box` is the next one. */
export async function withBox(use: (box: FakeBox) => Promise<void>): Promise<void> {
  const box = new FakeBox();
  const window = vscode.window as { createQuickPick: unknown };
  const real = window.createQuickPick;
  window.createQuickPick = () => box;
  try {
    await use(box);
  } finally {
    window.createQuickPick = real;
  }
}

/** What an explanation's page is told, and says, in place of VS Code's. */
export class FakePage {
  /** What it shows. */
  shown: { turns: { problem: string; buttons: string[]; html: string }[] } | undefined;
  private readonly messages = new vscode.EventEmitter<object>();
  private readonly ends = new vscode.EventEmitter<void>();
  readonly onDidDispose = this.ends.event;
  readonly webview = {
    cspSource: "",
    onDidReceiveMessage: (listener: (message: object) => unknown) => {
      const heard = this.messages.event(listener);
      this.say({ type: "ready" });
      return heard;
    },
    asWebviewUri: (uri: vscode.Uri) => uri,
    postMessage: (message: typeof this.shown) => {
      this.shown = message;
      return Promise.resolve(true);
    },
  };

  say(message: object): void {
    this.messages.fire(message);
  }

  dispose(): void {
    this.ends.fire();
  }
}

/** Do something with a page that a test looks at: `page` is the next one. */
export async function withPage(use: (page: FakePage) => Promise<void>): Promise<void> {
  const page = new FakePage();
  const window = vscode.window as { createWebviewPanel: unknown };
  const real = window.createWebviewPanel;
  window.createWebviewPanel = () => page;
  try {
    await use(page);
  } finally {
    window.createWebviewPanel = real;
  }
}

/** The errors that users are told of while `act` runs; `buttons` gets those of each. */
export function messages(
  act: (said: string[]) => Promise<void>,
  buttons: string[][] = [],
): Promise<string[]> {
  return told("showErrorMessage", act, buttons);
}

/** What the status bar says for a moment while `act` runs. */
export function statusMessages(act: () => Promise<void>): Promise<string[]> {
  return told("setStatusBarMessage", act, []);
}

/** The warnings that users get while `act` runs, and answer by the button `answer`. */
export function warnings(act: () => Promise<void>, answer?: string): Promise<string[]> {
  return told("showWarningMessage", act, [], answer);
}

async function told(
  how: "showErrorMessage" | "showWarningMessage" | "setStatusBarMessage",
  act: (said: string[]) => Promise<void>,
  buttons: string[][],
  answer?: string,
): Promise<string[]> {
  const said: string[] = [];
  const window = vscode.window as unknown as Record<typeof how, unknown>;
  const real = window[how];
  window[how] = (message: string, ...titles: string[]) => {
    said.push(message);
    buttons.push(titles);
    return Promise.resolve(answer);
  };
  try {
    await act(said);
  } finally {
    window[how] = real;
  }
  return said;
}
