/**
 * Edits before they are made: a read-only copy of the document in which removed and added lines
 * stand one after the other, in place of the editor. The document itself only has marks.
 */
import { basename } from "node:path";
import * as vscode from "vscode";

import { tell } from "./faults";
import { applied, merged, type Merged, places } from "./hunks";
import { documentLenses, previewLenses } from "./lenses";
import { type EditSession, linesOf } from "./session";

/** Scheme of the copies; also in the `when` clauses of package.json. */
export const PREVIEW = "copydraft-preview";
/** Scheme of the edited texts that the diff editor shows; in the `when` clauses, too. */
const PROPOSED = "copydraft-proposed";
const VISIBLE = "copydraft.previewVisible";

const CELL = "vscode-notebook-cell";

const INTERVAL_MS = 80;
const CHECK_MS = 300;
/** Large documents are sent to their editors more rarely. */
const CHARACTERS_PER_MS = 5000;

interface View {
  session: EditSession;
  uri: vscode.Uri;
  proposed: vscode.Uri;
  merged: Merged;
  text: string;
  timer: NodeJS.Timeout | undefined;
  check: NodeJS.Timeout | undefined;
  column: vscode.ViewColumn;
}

export class Previews implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly views = new Map<string, View>();
  private readonly contents = new vscode.EventEmitter<vscode.Uri>();
  private readonly lenses = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[] = [this.contents, this.lenses];
  private readonly removed = decoration("removed");
  private readonly added = decoration("inserted");
  private readonly waiting = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.wordHighlightBackground"),
    border: "1px dotted",
    borderColor: new vscode.ThemeColor("editor.wordHighlightBorder"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.modifiedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });

  readonly onDidChange = this.contents.event;

  constructor() {
    this.subscriptions.push(
      this.removed,
      this.added,
      this.waiting,
      vscode.workspace.registerTextDocumentContentProvider(PREVIEW, this),
      vscode.workspace.registerTextDocumentContentProvider(PROPOSED, this),
      vscode.languages.registerCodeLensProvider(
        [PREVIEW, "file", "untitled", CELL].map((scheme) => ({ scheme })),
        {
          onDidChangeCodeLenses: this.lenses.event,
          provideCodeLenses: (document) => this.lensesFor(document),
        },
      ),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        const view = this.viewOf(document.uri);
        if (view) this.decorate(view);
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        for (const view of this.views.values()) this.decorate(view);
      }),
      vscode.window.onDidChangeActiveTextEditor(() => {
        this.tellContext();
      }),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        for (const tab of closed) this.closed(tab);
      }),
    );
  }

  /** Show a session until it ends, in place of the editor that is active now. */
  async show(session: EditSession): Promise<void> {
    const name = basename(session.document.uri.path) || "untitled";
    const path = `/Copydraft: ${name}`;
    const editor = vscode.window.visibleTextEditors.find(
      (one) => one.document === session.document,
    );
    const view: View = {
      session,
      uri: vscode.Uri.from({ scheme: PREVIEW, path, query: session.id }),
      proposed: vscode.Uri.from({ scheme: PROPOSED, path: `/${name}`, query: session.id }),
      merged: { lines: [], marks: [] },
      text: "",
      timer: undefined,
      check: undefined,
      column: editor?.viewColumn ?? vscode.ViewColumn.Active,
    };
    this.views.set(session.id, view);
    this.render(view);
    session.onChanged(() => {
      this.renderSoon(view);
    });
    session.onEnded(() => {
      this.end(view).catch(tell);
    });
    await this.reveal(session);
  }

  /** Bring the preview of a session to the front. */
  async reveal(session: EditSession): Promise<void> {
    const view = this.views.get(session.id);
    if (!view) return;
    const document = await vscode.workspace.openTextDocument(view.uri);
    if (document.languageId !== session.document.languageId)
      await vscode.languages.setTextDocumentLanguage(document, session.document.languageId);
    if (!this.views.has(session.id)) return;
    this.send(view);
    const editor = await vscode.window.showTextDocument(document, {
      viewColumn: view.column,
      preview: false,
      selection: new vscode.Range(session.start, 0, session.start, 0),
    });
    if (!this.views.has(session.id)) {
      // It ended while its editor was opened, too early for the tab to be closed with it.
      await vscode.window.tabGroups.close(tabsOf(view.uri), true);
      return;
    }
    editor.revealRange(
      new vscode.Range(session.start, 0, session.end, 0),
      vscode.TextEditorRevealType.InCenterIfOutsideViewport,
    );
    this.decorate(view);
    this.tellContext();
  }

  /** The difference as VS Code's own diff editor shows it. */
  async diff(session: EditSession): Promise<void> {
    const view = this.views.get(session.id);
    if (!view) return;
    const name = basename(session.document.uri.path);
    await vscode.commands.executeCommand(
      "vscode.diff",
      session.document.uri,
      view.proposed,
      `${name}: ${session.instruction}`,
      { preview: true, viewColumn: view.column } satisfies vscode.TextDocumentShowOptions,
    );
  }

  /** The session that a document belongs to: the one it shows, or the latest about it. */
  sessionOf(document: vscode.TextDocument | undefined): EditSession | undefined {
    if (!document) return undefined;
    const { scheme, query } = document.uri;
    const own = [PREVIEW, PROPOSED].includes(scheme) ? this.views.get(query) : undefined;
    return own?.session ?? this.about(document).at(-1)?.session;
  }

  /** The hunk at a line of a preview, of the edited text or of its document; -1: none. */
  hunkAt(session: EditSession, document: vscode.TextDocument, line: number): number {
    const found = this.rowsOf(session, document).find(
      ({ at, end }) => at <= line && line < Math.max(end, at + 1),
    );
    return found?.id ?? -1;
  }

  /** The first line of the hunk before or after a line, in those same documents. */
  neighbour(
    session: EditSession,
    document: vscode.TextDocument,
    line: number,
    step: 1 | -1,
  ): number | undefined {
    const starts = this.rowsOf(session, document).map(({ at }) => at);
    return step === 1
      ? (starts.find((at) => at > line) ?? starts[0])
      : (starts.reverse().find((at) => at < line) ?? starts[0]);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const view = this.views.get(uri.query);
    if (!view) return "";
    const { session } = view;
    return uri.scheme === PREVIEW
      ? view.text
      : applied(linesOf(session.document), session.hunks).join("\n");
  }

  dispose(): void {
    this.views.forEach(stopTimers);
    for (const each of this.subscriptions) each.dispose();
  }

  private viewOf(uri: vscode.Uri): View | undefined {
    return uri.scheme === PREVIEW ? this.views.get(uri.query) : undefined;
  }

  /** Where each hunk's lines [at, end) are in a document. */
  private rowsOf(
    session: EditSession,
    { uri }: vscode.TextDocument,
  ): readonly { id: number; at: number; end: number }[] {
    // A preview shows the hunks of a moment before: by now some may be decided.
    if (uri.scheme === PREVIEW) return this.views.get(session.id)?.merged.marks ?? [];
    if (uri.scheme === PROPOSED) return places(session.hunks);
    return session.hunks.map(({ id, start, end }) => ({ id, at: start, end }));
  }

  private about(document: vscode.TextDocument): View[] {
    return [...this.views.values()].filter(({ session }) => session.document === document);
  }

  private renderSoon(view: View): void {
    view.timer ??= setTimeout(
      () => {
        view.timer = undefined;
        this.render(view);
      },
      Math.max(INTERVAL_MS, view.text.length / CHARACTERS_PER_MS),
    );
  }

  private render(view: View): void {
    view.merged = merged(linesOf(view.session.document), view.session.hunks);
    const text = view.merged.lines.join("\n");
    if (text !== view.text) {
      view.text = text;
      this.send(view);
    }
    this.decorate(view);
    this.lenses.fire();
  }

  /** VS Code drops what it is told of a document while it opens it: tell it until it has the text. */
  private send(view: View): void {
    this.contents.fire(view.uri);
    this.contents.fire(view.proposed);
    clearTimeout(view.check);
    view.check = setTimeout(() => {
      const shown = vscode.workspace.textDocuments.find((one) => this.viewOf(one.uri) === view);
      if (shown && shown.getText() !== view.text) this.send(view);
    }, CHECK_MS);
  }

  private decorate(view: View): void {
    const { session } = view;
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document === session.document) {
        const regions = this.about(session.document).map((one) => this.region(one.session));
        editor.setDecorations(this.waiting, regions);
      } else if (editor.document.uri.toString() === view.uri.toString()) {
        // The editor gets the text a moment after it was made; marks of another text mislead.
        if (editor.document.lineCount !== view.merged.lines.length) continue;
        const { marks } = view.merged;
        editor.setDecorations(
          this.removed,
          marks.filter((m) => m.at < m.added).map((m) => rows(m.at, m.added)),
        );
        editor.setDecorations(
          this.added,
          marks.filter((m) => m.added < m.end).map((m) => rows(m.added, m.end)),
        );
      }
    }
  }

  private region(session: EditSession): vscode.DecorationOptions {
    const about = new vscode.MarkdownString();
    about.appendMarkdown("**Copydraft** rewrites these lines: ");
    about.appendText(session.instruction);
    return {
      range: rows(session.start, Math.max(session.end, session.start + 1)),
      hoverMessage: about,
    };
  }

  private lensesFor(document: vscode.TextDocument): vscode.CodeLens[] {
    const own = this.viewOf(document.uri);
    if (own) return previewLenses(own.session, own.merged);
    return this.about(document).flatMap(({ session }) => documentLenses(session));
  }

  private tellContext(): void {
    const session = this.sessionOf(vscode.window.activeTextEditor?.document);
    void vscode.commands.executeCommand("setContext", VISIBLE, session !== undefined);
  }

  private closed(tab: vscode.Tab): void {
    if (!(tab.input instanceof vscode.TabInputText)) return;
    const view = this.viewOf(tab.input.uri);
    if (view && tabsOf(view.uri).length === 0) view.session.reject();
  }

  /** The preview gives its place back to the document. */
  private async end(view: View): Promise<void> {
    stopTimers(view);
    this.views.delete(view.session.id);
    this.decorate(view);
    this.lenses.fire();
    const tabs = [...tabsOf(view.uri), ...tabsOf(view.proposed)];
    const wasActive = tabs.some((tab) => tab.isActive && tab.group.isActive);
    if (tabs.length > 0) await vscode.window.tabGroups.close(tabs, true);
    const { document, start } = view.session;
    // A notebook comes to the front by itself; its cell has no editor of its own.
    if (wasActive && !document.isClosed && document.uri.scheme !== CELL) {
      const editor = await vscode.window.showTextDocument(document, { viewColumn: view.column });
      editor.revealRange(
        rows(start, start + 1),
        vscode.TextEditorRevealType.InCenterIfOutsideViewport,
      );
    }
    this.tellContext();
  }
}

function stopTimers(view: View): void {
  clearTimeout(view.timer);
  clearTimeout(view.check);
}

function rows(start: number, end: number): vscode.Range {
  return new vscode.Range(start, 0, Math.max(start, end - 1), 0);
}

function tabsOf(uri: vscode.Uri): vscode.Tab[] {
  const wanted = uri.toString();
  return vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter(({ input }) =>
      input instanceof vscode.TabInputText
        ? input.uri.toString() === wanted
        : input instanceof vscode.TabInputTextDiff && input.modified.toString() === wanted,
    );
}

/** As the diff editor marks them; high contrast themes have the border alone, others none. */
function decoration(kind: "removed" | "inserted"): vscode.TextEditorDecorationType {
  const removed = kind === "removed";
  const ruler = removed ? "deletedForeground" : "addedForeground";
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor(`diffEditor.${kind}LineBackground`),
    border: removed ? "1px dashed" : "1px solid",
    borderColor: new vscode.ThemeColor(`diffEditor.${kind}TextBorder`),
    overviewRulerColor: new vscode.ThemeColor(`editorOverviewRuler.${ruler}`),
    overviewRulerLane: vscode.OverviewRulerLane.Full,
    ...(removed && { opacity: "0.75" }),
  });
}
