/** What a command is about: lines of a document, found from the selection or a code action. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import * as vscode from "vscode";

import type { Server } from "./client";
import { followed } from "./hunks";
import type { CommandTarget } from "./protocol";

/** Where documents are that the language server knows. */
const SCHEMES = ["file", "untitled", "vscode-notebook-cell"];
export const DOCUMENTS = SCHEMES.map((scheme) => ({ scheme }));

const READ_ONLY = "this file is read-only";
const WRITE = 0o222;

export interface Target {
  document: vscode.TextDocument;
  /** Whole lines [start, end). */
  start: number;
  end: number;
  /** The document's version whose lines these are. */
  version: number;
}

/** What a command is about: what is `given`, as by a code action, else what is selected. */
export async function findTarget(
  server: Server,
  given: CommandTarget | undefined,
): Promise<Target | undefined> {
  return given?.textDocument ? givenTarget(given) : activeTarget(server);
}

/** Lines of the active editor: the selection, or the definition that the cursor is in. */
async function activeTarget(server: Server): Promise<Target | undefined> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    const { activeTab } = vscode.window.tabGroups.activeTabGroup;
    const problem =
      activeTab?.input instanceof vscode.TabInputText
        ? "VS Code shows this file to no extension: it is too large, or it is no text"
        : "open a file and select the code first";
    void vscode.window.showWarningMessage(`Copydraft: ${problem}.`);
    return undefined;
  }
  const { document, selection } = editor;
  const selected = { document, ...wholeLines(selection), version: document.version };
  if (!selection.isEmpty) return selected;
  return (await definitionAt(server, document, selection.active)) ?? selected;
}

/** The lines that a code action of the server's names. */
async function givenTarget(argument: CommandTarget): Promise<Target> {
  const document = await vscode.workspace.openTextDocument(
    vscode.Uri.parse(argument.textDocument.uri),
  );
  const { start, end } = argument.range;
  return {
    document,
    start: start.line,
    end: end.character > 0 ? end.line + 1 : end.line,
    version: argument.textDocument.version ?? document.version,
  };
}

/**
 * A target while the user is asked what is to be done: its lines as they are now.
 *
 * Leaving an editor may save its file, and saving may format it.
 */
export class FollowedTarget implements vscode.Disposable {
  private readonly subscription: vscode.Disposable;

  /** A `target` of an older version stays as it is, and so does one whose lines get lost. */
  constructor(public target: Target) {
    let lines: { start: number; end: number } | null =
      target.version === target.document.version ? target : null;
    this.subscription = vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (document !== target.document) return;
      for (const { range, text } of contentChanges)
        lines = lines && followed(lines, { range, text });
      if (lines) this.target = { ...lines, document, version: document.version };
    });
  }

  dispose(): void {
    this.subscription.dispose();
  }
}

export function asCommandTarget({ document, start, end, version }: Target): CommandTarget {
  return {
    textDocument: { uri: document.uri.toString(), version },
    range: { start: { line: start, character: 0 }, end: { line: end, character: 0 } },
  };
}

/** Whether a document is a file or becomes one, and no view: of an older version, of output. */
export function isDocument({ uri }: vscode.TextDocument): boolean {
  return SCHEMES.includes(uri.scheme);
}

/** Why a document cannot be edited; "" if it can. */
export async function readOnly(document: vscode.TextDocument): Promise<string> {
  const { uri } = document;
  if (uri.scheme === "untitled") return "";
  if (!isDocument(document)) return "this is a view, not a file that can be edited";
  if (setReadOnly(document)) return "the settings make this file read-only";
  try {
    // VS Code edits such files and fails when they are saved; the superuser may write them all.
    const { mode } = await stat(uri.fsPath);
    await access(uri.fsPath, constants.W_OK);
    return (mode & WRITE) === 0 ? READ_ONLY : "";
  } catch (error) {
    // A file that is gone, or was never there, is edited and can be saved.
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "" : READ_ONLY;
  }
}

function setReadOnly(document: vscode.TextDocument): boolean {
  const files = vscode.workspace.getConfiguration("files", document.uri);
  const matches = (setting: string): boolean => {
    const globs = Object.entries(files.get<Record<string, boolean>>(setting, {}));
    return globs.some(([pattern, on]) => on && vscode.languages.match({ pattern }, document) > 0);
  };
  return matches("readonlyInclude") && !matches("readonlyExclude");
}

/** A selection that ends at a line's start does not include that line. */
function wholeLines({ start, end }: vscode.Range): { start: number; end: number } {
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  return { start: start.line, end: last };
}

/** The server knows definitions: its code action for an edit names the lines. */
async function definitionAt(
  server: Server,
  document: vscode.TextDocument,
  position: vscode.Position,
): Promise<Target | undefined> {
  const { version } = document;
  const at = { line: position.line, character: position.character };
  const actions = await server
    .request<{ command?: { command: string; arguments?: CommandTarget[] } }[]>(
      "textDocument/codeAction",
      {
        textDocument: { uri: document.uri.toString() },
        range: { start: at, end: at },
        context: { diagnostics: [], only: ["refactor.rewrite"] },
      },
    )
    .catch(() => null);
  const found = actions?.find(({ command }) => command?.command === "copydraft.edit");
  const argument = found?.command?.arguments?.[0];
  if (!argument) return undefined;
  const { start, end } = argument.range;
  return { document, start: start.line, end: end.line, version };
}
