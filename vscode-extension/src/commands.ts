/** Commands beside edits and explanations. */
import * as vscode from "vscode";

import type { Server } from "./client";
import { cliCommand } from "./environment";
import { HelpfulError, tell } from "./faults";
import { completionIsOn, setSetting } from "./settings";
import { runInTerminal } from "./terminal";

/** Commands that run copydraft's command line in a terminal: title and arguments. */
const TERMINAL: Record<string, [string, string[]]> = {
  "copydraft.doctor": ["Doctor", ["doctor"]],
  "copydraft.daemonStart": ["Start Daemon", ["daemon", "start"]],
  "copydraft.daemonStop": ["Stop Daemon", ["daemon", "stop"]],
  "copydraft.daemonRestart": ["Restart Daemon", ["daemon", "restart"]],
  "copydraft.daemonUnload": ["Unload Model", ["daemon", "unload"]],
  "copydraft.daemonStatus": ["Daemon Status", ["daemon", "status"]],
};

/** Those of them that are about the repository that the user works in. */
const OF_REPOSITORY: Record<string, [string, string[]]> = {
  "copydraft.indexStatus": ["Index Status", ["index", "status"]],
  "copydraft.indexRebuild": ["Rebuild Index", ["index", "rebuild"]],
  "copydraft.profileRepository": ["Profile This Repository", ["profile", "--repo", "."]],
};

export function registerCommands(
  context: vscode.ExtensionContext,
  server: Server,
  log: vscode.LogOutputChannel,
  restart: () => Promise<void>,
): vscode.Disposable {
  const on = (command: string, run: () => unknown): vscode.Disposable =>
    vscode.commands.registerCommand(command, async () => {
      try {
        await run();
      } catch (error) {
        void tell(error);
      }
    });
  return vscode.Disposable.from(
    on("copydraft.restart", restart),
    on("copydraft.showLogs", () => {
      log.show();
    }),
    on("copydraft.stopAll", () => stopAll(server)),
    on("copydraft.toggleCompletion", toggleCompletion),
    ...Object.entries(TERMINAL).map(([command, [title, args]]) =>
      on(command, () => inTerminal(context, log, title, args)),
    ),
    ...Object.entries(OF_REPOSITORY).map(([command, [title, args]]) =>
      on(command, () => {
        if (!activeFolder()) throw new HelpfulError("open the repository's folder first.", []);
        return inTerminal(context, log, title, args);
      }),
    ),
  );
}

async function stopAll(server: Server): Promise<void> {
  const { cancelled } = server.running
    ? await server.ask<{ cancelled: number }>("copydraft.cancel")
    : { cancelled: 0 };
  const said = cancelled === 0 ? "there is nothing to stop" : `stopped ${cancelled}`;
  void vscode.window.setStatusBarMessage(`Copydraft: ${said}`, 3000);
}

async function toggleCompletion(): Promise<void> {
  const on = !completionIsOn();
  await setSetting("completion", on);
  void vscode.window.setStatusBarMessage(`Copydraft: completion is ${on ? "on" : "off"}`, 3000);
}

/** The workspace folder of the active editor, else the first. */
export function activeFolder(): vscode.WorkspaceFolder | undefined {
  const uri = vscode.window.activeTextEditor?.document.uri;
  return (
    (uri && vscode.workspace.getWorkspaceFolder(uri)) ?? vscode.workspace.workspaceFolders?.[0]
  );
}

async function inTerminal(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  title: string,
  args: string[],
): Promise<void> {
  const program = await cliCommand(context, log);
  const folder = activeFolder()?.uri;
  await runInTerminal(
    `Copydraft: ${title}`,
    { ...program, args: [...program.args, ...args] },
    folder?.scheme === "file" ? folder.fsPath : undefined,
  );
}
