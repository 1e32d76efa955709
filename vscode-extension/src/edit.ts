/** *Edit Selection…*: asks for an instruction, shows the edit while it is written, makes it. */
import * as vscode from "vscode";

import type { Server } from "./client";
import { tell } from "./faults";
import { askFor, History } from "./instruction";
import { Previews } from "./preview";
import type { CommandTarget, Stats } from "./protocol";
import { EditSession } from "./session";
import { asCommandTarget, findTarget, FollowedTarget, readOnly, type Target } from "./target";

/** Argument of the server's command, as its code actions have it. */
interface GivenEdit extends CommandTarget {
  instruction?: string;
}

export class Edits implements vscode.Disposable {
  /** What is being written or waits for a decision, by id. */
  readonly sessions = new Map<string, EditSession>();
  private readonly previews = new Previews();
  private readonly history: History;
  private readonly subscriptions: vscode.Disposable[] = [this.previews];

  constructor(
    private readonly server: Server,
    context: vscode.ExtensionContext,
    private readonly done: (stats: Stats) => void,
  ) {
    this.history = new History(context.globalState, "copydraft.instructions");
    server.interceptors.set("copydraft.edit", (given) => this.edit(given as GivenEdit | undefined));
    const on = (command: string, run: (...args: never[]) => unknown): void => {
      this.subscriptions.push(vscode.commands.registerCommand(command, run));
    };
    on("copydraft.editSelection", (given?: GivenEdit) => this.edit(given));
    on("copydraft.acceptAll", (id?: string) => this.accept(this.find(id)));
    on("copydraft.rejectAll", (id?: string) => this.find(id)?.reject());
    on("copydraft.acceptHunk", (id?: string, hunk?: number) => this.onHunk(id, hunk, true));
    on("copydraft.rejectHunk", (id?: string, hunk?: number) => this.onHunk(id, hunk, false));
    on("copydraft.nextHunk", () => {
      this.step(1);
    });
    on("copydraft.previousHunk", () => {
      this.step(-1);
    });
    on("copydraft.showPreview", (id?: string) =>
      this.shown(id, (one) => this.previews.reveal(one)),
    );
    on("copydraft.openDiff", (id?: string) => this.shown(id, (one) => this.previews.diff(one)));
  }

  /** Edit what is selected, or what is given; resolves when the answer is here. */
  async edit(given?: GivenEdit): Promise<void> {
    try {
      const target = await findTarget(this.server, given);
      if (!target) return;
      const followed = new FollowedTarget(target);
      try {
        await this.editLines(followed, given?.instruction ?? "");
      } finally {
        followed.dispose();
      }
    } catch (error) {
      void tell(error);
    }
  }

  /** Stop what is being written; what is ready to be accepted needs no server. */
  stopRunning(): void {
    for (const session of [...this.sessions.values()]) if (!session.ready) session.reject();
  }

  dispose(): void {
    for (const session of this.sessions.values()) session.dispose();
    for (const each of this.subscriptions) each.dispose();
  }

  private async editLines(followed: FollowedTarget, said: string): Promise<void> {
    const problem = await readOnly(followed.target.document);
    if (problem) {
      void vscode.window.showWarningMessage(`Copydraft: ${problem}.`);
      return;
    }
    // The server's code action without an instruction leaves it to us to ask for one.
    const instruction = said === "" ? await this.ask(followed.target) : said;
    if (instruction) await this.run(followed, instruction);
  }

  private async ask(target: Target): Promise<string | undefined> {
    const lines = target.end - target.start;
    const where = lines === 1 ? `line ${target.start + 1}` : `${lines} lines`;
    const warmUp = new vscode.CancellationTokenSource();
    if (this.server.has("copydraft.prepare")) {
      const argument = { ...asCommandTarget(target), kind: "edit" };
      // Nobody waits for it: whatever goes wrong will come up again with the edit itself.
      this.server.ask("copydraft.prepare", argument, warmUp.token).catch(() => undefined);
    }
    const said = await askFor(
      `Copydraft: edit ${where}`,
      "What should become of this code?",
      this.history,
    );
    if (said === undefined) warmUp.cancel();
    else await this.history.add(said);
    return said;
  }

  private async run(followed: FollowedTarget, instruction: string): Promise<void> {
    // The tab must not be replaced by the next file that is looked at: the edit belongs to it.
    if (vscode.window.activeTextEditor?.document === followed.target.document)
      await vscode.commands.executeCommand("workbench.action.keepEditor");
    const session = new EditSession(this.server, { ...followed.target, instruction });
    this.sessions.set(session.id, session);
    session.onEnded((how) => {
      this.sessions.delete(session.id);
      if (how === "accepted")
        void vscode.commands.executeCommand("setContext", "copydraft.editAccepted", true);
      if (how === "unchanged")
        void vscode.window.showInformationMessage("Copydraft: the model changes nothing here.");
      if (how === "lost" && session.ready)
        void vscode.window.showWarningMessage(
          "Copydraft: the edit was dropped: its lines were changed, or its file was closed.",
        );
    });
    // Where another editor takes its place in the same moment, a lens in the document leads there.
    const shown = this.previews.show(session).catch(() => undefined);
    await session.run();
    if (session.stats) this.done(session.stats);
    await shown;
  }

  private async accept(session: EditSession | undefined, ids?: number[]): Promise<void> {
    try {
      if (session && isDecidable(session)) await session.accept(ids);
    } catch (error) {
      void tell(error);
    }
  }

  /** Accept or reject one hunk: the given one, or the one at the cursor. */
  private async onHunk(
    id: string | undefined,
    hunk: number | undefined,
    accept: boolean,
  ): Promise<void> {
    const session = this.find(id);
    const editor = vscode.window.activeTextEditor;
    if (!session || !isDecidable(session)) return;
    const chosen =
      hunk ??
      (editor ? this.previews.hunkAt(session, editor.document, editor.selection.active.line) : -1);
    if (chosen < 0)
      void vscode.window.setStatusBarMessage("Copydraft: the cursor is in no change", 3000);
    else if (accept) await this.accept(session, [chosen]);
    else session.reject([chosen]);
  }

  private step(step: 1 | -1): void {
    const editor = vscode.window.activeTextEditor;
    const session = this.find();
    if (!editor || !session) return;
    const at = editor.selection.active.line;
    const line = this.previews.neighbour(session, editor.document, at, step);
    if (line === undefined) return;
    editor.selection = new vscode.Selection(line, 0, line, 0);
    editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  private async shown(
    id: string | undefined,
    show: (session: EditSession) => Promise<void>,
  ): Promise<void> {
    const session = this.find(id);
    if (session) await show(session);
  }

  /** The session of that id, or the one that the active editor is about. */
  private find(id?: string): EditSession | undefined {
    return typeof id === "string"
      ? this.sessions.get(id)
      : this.previews.sessionOf(vscode.window.activeTextEditor?.document);
  }
}

/** Whether the whole answer is here; what is still being written can only be dropped whole. */
function isDecidable({ ready }: EditSession): boolean {
  if (!ready)
    void vscode.window.setStatusBarMessage("Copydraft: the edit is still being written", 3000);
  return ready;
}
