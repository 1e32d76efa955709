/** *Explain Selection*: an explanation beside the code, and questions that go on from it. */
import { randomBytes, randomUUID } from "node:crypto";
import { basename } from "node:path";
import * as vscode from "vscode";

import type { Server } from "./client";
import { asFault, type Button, buttonsOf, Fault, tell } from "./faults";
import { lineFinder, lineNumbers, type LineOf, type NumberedLine, render } from "./markdown";
import type { CommandTarget, ExplainAnswer, Stats } from "./protocol";
import { linesOf } from "./session";
import { asCommandTarget, findTarget, FollowedTarget, isDocument, type Target } from "./target";

const INTERVAL_MS = 80;
const AGAIN = "Try Again";

interface Turn {
  question: string;
  text: string;
  problem: string;
  /** What helps against the problem. */
  buttons: readonly Button[];
}

/** Argument of the server's command, as its code actions have it. */
interface GivenQuestion extends CommandTarget {
  question?: string;
}

/** What the page says: see media/explain.js. */
type Said =
  | { type: "ready" }
  | { type: "stop" }
  | { type: "ask"; question: string }
  | { type: "copy"; text: string }
  | { type: "go"; line: number }
  | { type: "help"; turn: number; button: number };

export class Explanations implements vscode.Disposable {
  /** The conversation that is open. */
  panel: Panel | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly context: vscode.ExtensionContext,
    private readonly done: (stats: Stats) => void,
  ) {
    server.interceptors.set("copydraft.explain", (given) => this.explain(given as GivenQuestion));
    this.subscriptions = [
      vscode.commands.registerCommand("copydraft.explainSelection", (given?: GivenQuestion) =>
        this.explain(given),
      ),
    ];
  }

  async explain(given?: GivenQuestion): Promise<void> {
    try {
      const target = await findTarget(this.server, given);
      if (!target) return;
      if (!isDocument(target.document)) {
        void vscode.window.showWarningMessage(
          "Copydraft: this is a view. Select the lines in the file itself.",
        );
        return;
      }
      this.panel?.dispose();
      const panel = new Panel(this.server, this.context.extensionUri, target, this.done);
      this.panel = panel;
      panel.view.onDidDispose(() => {
        if (this.panel === panel) this.panel = undefined;
      });
      await panel.ask(given?.question ?? "");
    } catch (error) {
      void tell(error);
    }
  }

  dispose(): void {
    this.panel?.dispose();
    for (const each of this.subscriptions) each.dispose();
  }
}

/** One conversation about some lines. */
class Panel implements vscode.Disposable {
  private readonly turns: Turn[] = [];
  private readonly lineOf: LineOf;
  private readonly numbered: NumberedLine;
  private readonly lines: string[];
  readonly view: vscode.WebviewPanel;
  private readonly followed: FollowedTarget;
  private session = "";
  private running: vscode.CancellationTokenSource | undefined;
  private progress = "";
  private timer: NodeJS.Timeout | undefined;
  private gone = false;
  /** Whether the page listens; until then, VS Code keeps messages, and with them what sent them. */
  private loaded = false;

  constructor(
    private readonly server: Server,
    home: vscode.Uri,
    private readonly target: Target,
    private readonly done: (stats: Stats) => void,
  ) {
    const { document, start, end } = target;
    this.followed = new FollowedTarget(target);
    this.lines = linesOf(document);
    this.lineOf = lineFinder(this.lines, start, end);
    this.numbered = lineNumbers(start, end);
    const media = vscode.Uri.joinPath(home, "media");
    this.view = vscode.window.createWebviewPanel(
      "copydraft.explanation",
      `Explain ${basename(document.uri.path)}`,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: true, localResourceRoots: [media] },
    );
    this.view.webview.html = page(this.view.webview, media);
    this.view.webview.onDidReceiveMessage((said: Said) => {
      this.hear(said);
    });
    this.view.onDidDispose(() => {
      this.gone = true;
      this.loaded = false;
      this.followed.dispose();
      this.running?.cancel();
      clearTimeout(this.timer);
    });
  }

  /** All answers as they are shown, for tests. */
  get html(): string {
    return this.turns.map(({ text }) => render(text, this.lineOf, this.numbered)).join("\n");
  }

  /** Ask something about the lines, "" for what they do; the answer is shown as it comes. */
  async ask(question: string): Promise<void> {
    if (this.running || this.gone) return;
    const turn: Turn = { question, text: "", problem: "", buttons: [] };
    this.turns.push(turn);
    await this.answer(turn);
  }

  private async answer(turn: Turn): Promise<void> {
    const running = new vscode.CancellationTokenSource();
    this.running = running;
    this.progress = "starting";
    this.show();
    const id = randomUUID();
    const deltas = this.server.onDelta((delta) => {
      if (delta.id !== id) return;
      turn.text = delta.text;
      this.progress = `${delta.tokens} tokens`;
      this.showSoon();
    });
    try {
      // The server knows the lines of a session as they were when it began.
      const lines = this.session
        ? { session: this.session }
        : asCommandTarget(this.followed.target);
      const argument = { ...lines, id, question: turn.question };
      const answer = await this.server.execute<ExplainAnswer>(
        "copydraft.explain",
        argument,
        running.token,
        (message) => {
          this.progress = message;
          this.showSoon();
        },
      );
      turn.text = answer.text;
      this.session = answer.session ?? "";
      this.done(answer.stats);
    } catch (error) {
      const fault = asFault(error);
      const stopped = fault instanceof vscode.CancellationError;
      turn.problem = stopped ? "stopped" : fault.message;
      if (!stopped) turn.buttons = buttonsOf(fault);
      // The server does not know the session any more: it is begun anew.
      if (fault instanceof Fault && fault.code === "bad-request") this.session = "";
    } finally {
      deltas.dispose();
      running.dispose();
      this.running = undefined;
      this.progress = "";
      this.show();
    }
  }

  dispose(): void {
    this.view.dispose();
  }

  private showSoon(): void {
    this.timer ??= setTimeout(() => {
      this.show();
    }, INTERVAL_MS);
  }

  private show(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.loaded) return;
    const { document, start, end } = this.target;
    const lines = end - start === 1 ? `line ${start + 1}` : `lines ${start + 1}–${end}`;
    void this.view.webview.postMessage({
      where: `${vscode.workspace.asRelativePath(document.uri)}, ${lines}`,
      line: start,
      busy: this.running !== undefined,
      progress: this.progress,
      turns: this.turns.map((turn) => ({
        question: turn.question,
        problem: turn.problem,
        buttons: [
          ...turn.buttons.map(([title]) => title),
          ...(this.mayRepeat(turn) ? [AGAIN] : []),
        ],
        html: render(turn.text, this.lineOf, this.numbered),
      })),
    });
  }

  private hear(said: Said): void {
    switch (said.type) {
      case "ready":
        this.loaded = true;
        this.show();
        break;
      case "stop":
        this.running?.cancel();
        break;
      case "ask":
        void this.ask(said.question.trim());
        break;
      case "copy":
        void vscode.env.clipboard.writeText(said.text);
        break;
      case "go":
        void this.go(said.line).catch(tell);
        break;
      case "help":
        this.help(said.turn, said.button);
        break;
    }
  }

  private help(index: number, button: number): void {
    const turn = this.turns[index];
    const command = turn?.buttons[button]?.[1];
    if (command) void vscode.commands.executeCommand(command);
    else if (turn && this.mayRepeat(turn)) {
      Object.assign(turn, { text: "", problem: "", buttons: [] });
      void this.answer(turn);
    }
  }

  /** Whether a turn that brought no answer can be asked again: the last one, when nothing runs. */
  private mayRepeat(turn: Turn): boolean {
    return !this.running && turn.problem !== "" && turn === this.turns.at(-1);
  }

  /** Show a line of the document as it was; the nearest one that still has its text. */
  private async go(line: number): Promise<void> {
    const { uri } = this.target.document;
    const document = await vscode.workspace.openTextDocument(uri);
    const text = this.lines[line] ?? "";
    const same = linesOf(document).flatMap((one, at) => (one === text ? [at] : []));
    const nearest = same.sort((a, b) => Math.abs(a - line) - Math.abs(b - line))[0] ?? line;
    // A notebook's cell has no editor of its own to be shown in.
    if (uri.scheme === "vscode-notebook-cell") return;
    const editor = vscode.window.visibleTextEditors.find((one) => one.document === document);
    await vscode.window.showTextDocument(document, {
      viewColumn: editor?.viewColumn ?? vscode.ViewColumn.One,
      selection: new vscode.Range(nearest, 0, nearest, text.length),
    });
  }
}

function page(view: vscode.Webview, media: vscode.Uri): string {
  const nonce = randomBytes(16).toString("base64");
  const uri = (name: string): string =>
    view.asWebviewUri(vscode.Uri.joinPath(media, name)).toString();
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${view.cspSource}; script-src 'nonce-${nonce}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${uri("explain.css")}">
<title>Explanation</title>
</head>
<body>
<header><h1><button id="where" class="place" title="Go to these lines"></button></h1></header>
<main id="turns" aria-live="polite" aria-busy="false"></main>
<p id="progress" aria-hidden="true"></p>
<p id="state" class="unseen" role="status"></p>
<form id="form">
<input id="question" type="text" aria-label="Ask on" placeholder="Ask on about these lines" autocomplete="off">
<button id="ask" type="submit">Ask</button>
<button id="stop" type="button" hidden>Stop</button>
</form>
<script nonce="${nonce}" src="${uri("explain.js")}"></script>
</body>
</html>`;
}
