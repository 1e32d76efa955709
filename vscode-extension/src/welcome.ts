/** From the first start to the first edit: setting up, choosing a model, trying it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";

import type { Server } from "./client";
import { cliCommand, NotSetUp, problemOfPython } from "./environment";
import { SHOW_PROGRESS, tell } from "./faults";
import { chooseModel, downloadModel } from "./models";
import { clearSetting, setSetting } from "./settings";
import { isSettingUp, setUp } from "./setup";

const WELCOMED = "copydraft.welcomed";
const WALKTHROUGH = "copydraft.copydraft#copydraft.start";
const SET_UP = "Set Up";

export class Welcome implements vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
    server: Server,
    private readonly restart: () => Promise<void>,
  ) {
    const on = (command: string, act: () => Promise<unknown>): vscode.Disposable =>
      vscode.commands.registerCommand(command, () => act().catch(tell));
    this.subscriptions = [
      on("copydraft.setUp", () => this.setUp()),
      on("copydraft.choosePython", () => this.choosePython()),
      on("copydraft.chooseModel", async () => chooseModel(await cliCommand(context, log), log)),
      on("copydraft.downloadModel", async () => downloadModel(await cliCommand(context, log), log)),
      on("copydraft.trySample", () => this.trySample()),
      server.onRunning((running) => {
        if (running) void ready(true);
      }),
    ];
  }

  dispose(): void {
    for (const each of this.subscriptions) each.dispose();
  }

  /** Why the server did not start at activation: the first time, the walkthrough tells more. */
  async began(error: unknown): Promise<void> {
    if (error instanceof NotSetUp && !this.context.globalState.get(WELCOMED)) {
      await this.context.globalState.update(WELCOMED, true);
      await vscode.commands.executeCommand("workbench.action.openWalkthrough", WALKTHROUGH, false);
      return;
    }
    await tell(error);
  }

  private async setUp(python?: string): Promise<void> {
    if (isSettingUp()) {
      // Another Python would come too late.
      if (python !== undefined) throw new NotSetUp();
      await vscode.commands.executeCommand(SHOW_PROGRESS[1]);
      return;
    }
    const settings = vscode.workspace.getConfiguration("copydraft");
    for (const key of ["server.command", "python"]) {
      const given = settings.get<string | string[]>(key, "");
      if (given.length === 0) continue;
      const keep = `Keep ${key}`;
      const chosen = await vscode.window.showWarningMessage(
        `The setting copydraft.${key} names a copydraft of your own. Set up another one and use it?`,
        SET_UP,
        keep,
      );
      if (chosen !== SET_UP) return;
      await clearSetting(key);
    }
    await setUp(this.context, this.log, python);
    await this.restart();
    await ready(true);
    const chosen = await vscode.window.showInformationMessage(
      "Copydraft is set up.",
      "Choose Model",
    );
    if (chosen) await vscode.commands.executeCommand("copydraft.chooseModel");
  }

  /** A Python that has copydraft is used as it is; another one makes the environment. */
  private async choosePython(): Promise<void> {
    const [file] =
      (await vscode.window.showOpenDialog({
        title: "A Python 3.11 or newer",
        openLabel: "Choose",
        defaultUri: vscode.Uri.file("/usr/bin"),
      })) ?? [];
    if (!file) return;
    if ((await problemOfPython(file.fsPath)) !== "") {
      await this.setUp(file.fsPath);
      return;
    }
    await setSetting("python", file.fsPath);
  }

  /** A small file without a name, with a function chosen in it that wants an edit. */
  private async trySample(): Promise<void> {
    const content = await readFile(join(this.context.extensionPath, "media", "sample.py"), "utf8");
    const document = await vscode.workspace.openTextDocument({ language: "python", content });
    const beside = vscode.window.tabGroups.activeTabGroup.tabs.length > 0;
    const column = beside ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
    const editor = await vscode.window.showTextDocument(document, column);
    editor.selection = new vscode.Selection(0, 0, document.lineCount, 0);
    await vscode.commands.executeCommand("copydraft.editSelection");
  }
}

function ready(value: boolean): Thenable<unknown> {
  return vscode.commands.executeCommand("setContext", "copydraft.environmentReady", value);
}
