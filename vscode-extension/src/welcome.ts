/** From the first start to the first edit: setting up, choosing a model, trying it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";

import type { Server } from "./client";
import { cliCommand, NotSetUp, problemOfPython } from "./environment";
import { SHOW_PROGRESS, tell } from "./faults";
import { chooseModel, downloadModel } from "./models";
import { clearSetting, ofMachine, setSetting } from "./settings";
import { BeingSetUp, isSettingUp, setUp } from "./setup";

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

  private async setUp(python?: string): Promise<void> {
    if (isSettingUp()) {
      // Another Python would come too late.
      if (python !== undefined) throw new BeingSetUp();
      await vscode.commands.executeCommand(SHOW_PROGRESS[1]);
      return;
    }
    const given = await givenUp(
      ["server.command", "python"],
      "Set up another one and use it?",
      SET_UP,
    );
    if (!given) return;
    await setUp(this.context, this.log, python);
    // Not before: one that fails leaves the user with what there was.
    for (const key of given) await clearSetting(key);
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
    const given = await givenUp(["server.command"], "Use that Python's instead?", "Use It");
    if (!given) return;
    await setSetting("python", file.fsPath);
    for (const key of given) await clearSetting(key);
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

/**
 * The server did not start with the window. That nobody has set copydraft up yet is no fault: the
 * first time the walkthrough tells more, later the status bar offers it.
 */
export async function began(
  { globalState }: vscode.ExtensionContext,
  error: unknown,
): Promise<void> {
  if (!(error instanceof NotSetUp)) {
    await tell(error);
  } else if (!globalState.get(WELCOMED)) {
    await globalState.update(WELCOMED, true);
    await vscode.commands.executeCommand("workbench.action.openWalkthrough", WALKTHROUGH, false);
  }
}

/**
 * Those of the settings that are set and name a copydraft of the user's own, once the user has
 * agreed to give them up; undefined where they are to be kept.
 */
async function givenUp(
  keys: readonly ("server.command" | "python")[],
  question: string,
  yes: string,
): Promise<typeof keys | undefined> {
  const set = keys.filter((key) => ofMachine(key).length > 0);
  for (const key of set) {
    const asked = `The setting copydraft.${key} names a copydraft of your own. ${question}`;
    if ((await vscode.window.showWarningMessage(asked, yes, `Keep ${key}`)) !== yes)
      return undefined;
  }
  return set;
}

function ready(value: boolean): Thenable<unknown> {
  return vscode.commands.executeCommand("setContext", "copydraft.environmentReady", value);
}
