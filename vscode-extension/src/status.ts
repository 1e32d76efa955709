/** The status bar: model, speed and how much was copied; or what is wrong. */
import * as vscode from "vscode";

import type { Server } from "./client";
import type { Stats, StatusAnswer } from "./protocol";
import { completionIsOn } from "./settings";
import { isSettingUp, onSettingUp } from "./setup";

const EVERY_MS = 20_000;
/** How the language server says that no daemon was started yet. */
const NO_DAEMON = "no daemon is running";

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem(
    "copydraft.status",
    vscode.StatusBarAlignment.Right,
    90,
  );
  private readonly subscriptions: vscode.Disposable[] = [this.item];
  private status: StatusAnswer | undefined;
  private last: Stats | undefined;
  private busy = 0;

  constructor(private readonly server: Server) {
    this.item.name = "Copydraft";
    const timer = setInterval(() => {
      if (vscode.window.state.focused) void this.refresh();
    }, EVERY_MS);
    this.subscriptions.push(
      new vscode.Disposable(() => {
        clearInterval(timer);
      }),
      server.onRunning((running) => {
        this.status = undefined;
        if (running) void this.refresh();
        this.show();
      }),
      server.onBusy((count) => {
        const wasBusy = this.busy > 0;
        this.busy = count;
        this.show();
        if (wasBusy && count === 0) void this.refresh();
      }),
      onSettingUp(() => {
        this.show();
      }),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("copydraft")) this.show();
      }),
    );
    this.show();
    this.item.show();
  }

  /** What a request that has ended cost. */
  took(stats: Stats): void {
    this.last = stats;
    this.show();
  }

  async refresh(): Promise<void> {
    if (!this.server.running) return;
    try {
      this.status = await this.server.ask<StatusAnswer>("copydraft.status");
    } catch {
      this.status = undefined;
    }
    this.show();
  }

  /** What the bar says now, without icons. */
  get text(): string {
    return this.item.text.replace(/\$\([^)]*\)/g, "").trim();
  }

  dispose(): void {
    for (const each of this.subscriptions) each.dispose();
  }

  private show(): void {
    const model = this.status?.daemon?.model?.name ?? this.last?.model ?? "";
    const parts = [shortName(model) || "Copydraft"];
    // Before it is set up there is nothing to show, and nothing has gone wrong.
    const begins = this.server.lacksSetUp || isSettingUp();
    if (begins) parts.push(isSettingUp() ? "setting up" : "set up");
    this.item.command = begins ? "copydraft.setUp" : "copydraft.showStatistics";
    if (this.last) {
      const { output_tokens: all, copied_tokens: copied, tokens_per_s: speed } = this.last;
      parts.push(
        `${speed.toFixed(0)} t/s`,
        `${all ? Math.round((100 * copied) / all) : 0} % copied`,
      );
    }
    this.item.text = `$(${this.icon()}) ${parts.join(" · ")}`;
    this.item.backgroundColor = this.problem
      ? new vscode.ThemeColor("statusBarItem.errorBackground")
      : undefined;
    this.item.accessibilityInformation = {
      label: `Copydraft: ${this.state()}, ${parts.join(", ")}`,
    };
    this.item.tooltip = this.tooltip();
  }

  /** What is wrong; "" where nothing is. A daemon that nobody needed yet is none. */
  private get problem(): string {
    const problem = this.server.running ? (this.status?.problem ?? "") : this.server.problem;
    return this.server.lacksSetUp || problem.startsWith(NO_DAEMON) ? "" : problem;
  }

  private icon(): string {
    if (this.busy > 0 || isSettingUp()) return "loading~spin";
    if (this.problem) return "error";
    return this.server.running ? "copy" : "circle-slash";
  }

  /** What the server does, or what is wrong; as screen readers tell it. */
  state(): string {
    if (isSettingUp()) return "being set up";
    if (this.busy > 0) return "working";
    if (this.problem) return this.problem;
    if (this.server.lacksSetUp) return "not set up yet";
    if (!this.server.running) return "the language server does not run";
    const daemon = this.status?.daemon;
    if (!daemon) return "idle, no daemon runs yet";
    return daemon.model
      ? `idle, ${daemon.model.name} on ${daemon.model.device}`
      : "idle, no model loaded";
  }

  private tooltip(): vscode.MarkdownString {
    const commands: [string, string][] = [
      ["Statistics", "copydraft.showStatistics"],
      [
        completionIsOn() ? "Turn Completion Off" : "Turn Completion On",
        "copydraft.toggleCompletion",
      ],
      ["Choose Model", "copydraft.chooseModel"],
      ["Show Logs", "copydraft.showLogs"],
      ["Restart", "copydraft.restart"],
    ];
    const tip = new vscode.MarkdownString("", true);
    tip.isTrusted = { enabledCommands: commands.map(([, command]) => command) };
    tip.appendMarkdown("**Copydraft**: ");
    tip.appendText(this.state());
    tip.appendMarkdown(
      `\n\n${commands.map(([title, name]) => `[${title}](command:${name})`).join(" · ")}`,
    );
    return tip;
  }
}

/** A file's name where a model is named by its path. */
function shortName(model: string): string {
  return (model.split("/").at(-1) ?? "").replace(/\.gguf$/, "");
}
