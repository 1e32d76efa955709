/** One edit, from the instruction until it is accepted or rejected. The document changes only then. */
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";

import type { Server } from "./client";
import { type Change, grouped, type Hunk, moved, written } from "./hunks";
import type { Delta, EditAnswer, Stats, TextEdit } from "./protocol";
import { asCommandTarget, type Target } from "./target";

/** What an edit is about. */
export interface EditRequest extends Target {
  instruction: string;
}

/** How a session ended. */
export type Ending = "accepted" | "rejected" | "unchanged" | "lost";

const TRIES = 3;
const RETRY_MS = 30;
const NOTHING = { id: 0, lines: [], edits: [] };

export class EditSession implements vscode.Disposable {
  readonly id = randomUUID();
  readonly document: vscode.TextDocument;
  readonly instruction: string;
  start: number;
  end: number;
  /** What is left to be decided; while the model writes, what it has written so far. */
  hunks: Hunk[] = [];
  /** The whole answer is here. */
  ready = false;
  ended: Ending | undefined;
  stats: Stats | undefined;
  /** Tokens so far, or what it waits for. */
  progress = "";

  private readonly changed = new vscode.EventEmitter<void>();
  private readonly finished = new vscode.EventEmitter<Ending>();
  private readonly stopper = new vscode.CancellationTokenSource();
  private readonly subscriptions: vscode.Disposable[] = [];
  /** Changes since the request was sent, each with the version that it led to. */
  private readonly changes: { version: number; change: Change }[] = [];
  private accepted = 0;
  private applying = false;

  readonly onChanged = this.changed.event;
  readonly onEnded = this.finished.event;

  constructor(
    private readonly server: Server,
    private readonly request: EditRequest,
  ) {
    this.document = request.document;
    this.instruction = request.instruction;
    this.start = request.start;
    this.end = request.end;
    this.subscriptions.push(
      server.onDelta((delta) => {
        if (delta.id === this.id) this.take(delta);
      }),
      vscode.workspace.onDidChangeTextDocument((event) => {
        if (event.document === this.document) this.follow(event);
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        // Another language closes and opens a document that is there all the time.
        const there = vscode.workspace.textDocuments.includes(document);
        if (document === this.document && !there) this.finish("lost");
      }),
    );
  }

  /**
   * Ask for the edit. Resolves when the whole answer is here, or the session has ended.
   *
   * Throws a Fault, or a vscode.CancellationError; the session has ended then.
   */
  async run(): Promise<void> {
    const { id, instruction } = this;
    const argument = { ...asCommandTarget(this.request), id, instruction, apply: false };
    try {
      const answer = await this.server.execute<EditAnswer>(
        "copydraft.edit",
        argument,
        this.stopper.token,
        (message) => {
          this.progress = message;
          this.changed.fire();
        },
      );
      this.receive(answer);
    } catch (error) {
      if (this.ended) return;
      this.finish("lost");
      throw error;
    }
  }

  /**
   * Make some or all of the edit, as one step to undo.
   *
   * Throws an Error where the editor refuses.
   */
  async accept(ids?: readonly number[]): Promise<void> {
    if (!this.ready || this.ended || this.applying) return;
    this.applying = true;
    try {
      await this.apply(this.hunks.map(({ id }) => id).filter((id) => !ids || ids.includes(id)));
    } finally {
      this.applying = false;
    }
    this.settle();
  }

  /** Drop some of the edit; without ids all of it, and a running request is cancelled. */
  reject(ids?: readonly number[]): void {
    if (this.ended) return;
    this.hunks = ids && this.ready ? this.hunks.filter(({ id }) => !ids.includes(id)) : [];
    this.settle();
  }

  dispose(): void {
    this.stopper.cancel();
    for (const each of this.subscriptions) each.dispose();
  }

  private take(delta: Delta): void {
    // Lines of another version would be shown in the wrong place; the next delta is on its way.
    if (this.ready || this.ended || delta.version !== this.document.version) return;
    this.start = delta.start;
    this.end = delta.end;
    this.hunks = delta.hunks.map((hunk, id) => ({ ...hunk, id, edits: [] }));
    this.progress = `${delta.tokens} tokens`;
    this.changed.fire();
  }

  private receive(answer: EditAnswer): void {
    if (this.ended) return;
    this.stats = answer.stats;
    const edits = editsOf(answer);
    let hunks = grouped(edits);
    for (const { version, change } of this.changes)
      if (version > answer.version) hunks = followed(hunks, change);
    const lines = linesOf(this.document);
    this.hunks = hunks.map((hunk) => written(hunk, lines));
    this.ready = true;
    if (edits.length === 0) this.finish("unchanged");
    else if (hunks.length === 0) this.finish("lost");
    else this.changed.fire();
  }

  private follow(event: vscode.TextDocumentChangeEvent): void {
    if (event.contentChanges.length === 0) return;
    for (const { range, text } of event.contentChanges) {
      const change = { range, text };
      this.changes.push({ version: event.document.version, change });
      this.hunks = followed(this.hunks, change);
      const region = moved({ ...NOTHING, start: this.start, end: this.end }, change);
      if (region) [this.start, this.end] = [region.start, region.end];
    }
    if (this.ready && !this.applying && this.hunks.length === 0)
      this.finish(this.accepted > 0 ? "accepted" : "lost");
    else this.changed.fire();
  }

  /** Make the hunks of these ids; the document may change just then. */
  private async apply(ids: readonly number[]): Promise<void> {
    for (let left = TRIES; left > 0; left--) {
      const chosen = this.hunks.filter(({ id }) => ids.includes(id));
      if (chosen.length === 0) return;
      const edit = new vscode.WorkspaceEdit();
      edit.set(
        this.document.uri,
        chosen.flatMap((hunk) => hunk.edits.map(asTextEdit)),
      );
      if (await vscode.workspace.applyEdit(edit)) {
        this.hunks = this.hunks.filter(({ id }) => !ids.includes(id));
        this.accepted += chosen.length;
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    throw new Error("the editor did not make the edit. Is the file read-only?");
  }

  private settle(): void {
    if (this.hunks.length > 0) this.changed.fire();
    else this.finish(this.accepted > 0 ? "accepted" : "rejected");
  }

  private finish(how: Ending): void {
    if (this.ended) return;
    this.ended = how;
    this.finished.fire(how);
    this.dispose();
  }
}

/** The lines of a document, without line ends; behind a final line end there is an empty one. */
export function linesOf(document: vscode.TextDocument): string[] {
  return Array.from({ length: document.lineCount }, (_, line) => document.lineAt(line).text);
}

function followed(hunks: readonly Hunk[], change: Change): Hunk[] {
  return hunks.map((hunk) => moved(hunk, change)).filter((hunk) => hunk !== null);
}

function editsOf({ edit }: EditAnswer): TextEdit[] {
  if (!edit) return [];
  const changes = edit.documentChanges ?? [];
  return [...changes.flatMap(({ edits }) => edits), ...Object.values(edit.changes ?? {}).flat()];
}

function asTextEdit({ range: { start, end }, newText }: TextEdit): vscode.TextEdit {
  const range = new vscode.Range(start.line, start.character, end.line, end.character);
  return new vscode.TextEdit(range, newText);
}
