/**
 * Copydraft's command line in terminals.
 *
 * Not as tasks, which save whatever the user has not saved yet, and not typed into a shell, which
 * would read the arguments its own way.
 */
import { readFileSync } from "node:fs";
import * as vscode from "vscode";

import type { Program } from "./programs";

/** Runs what follows it and stays until Ctrl+C; what extensions type into new terminals is lost. */
const SHELL = "/bin/sh";
const STAYS =
  'trap : INT; "$@"; ' +
  'printf "\\nIt ended with status %s. Ctrl+C closes this terminal.\\n" "$?"; ' +
  'trap "exit 0" INT; while read -r _; do :; done';

/** The terminals by their names; one that was closed may still be here. */
const opened = new Map<string, vscode.Terminal>();

/** Run a command in a terminal of that name; one in which it still runs is shown instead. */
export async function runInTerminal(name: string, program: Program, cwd?: string): Promise<void> {
  const before = opened.get(name);
  if (before && vscode.window.terminals.includes(before)) {
    if (await isRunning(before)) {
      before.show();
      return;
    }
    before.dispose();
  }
  const terminal = vscode.window.createTerminal({
    name,
    ...asShell(program),
    env: program.env,
    iconPath: new vscode.ThemeIcon("copy"),
    isTransient: true,
    ...(cwd !== undefined && { cwd }),
  });
  opened.set(name, terminal);
  terminal.show();
}

/** A program as the shell of a terminal that its output outlives. */
export function asShell({ command, args }: Program): { shellPath: string; shellArgs: string[] } {
  return { shellPath: SHELL, shellArgs: ["-c", STAYS, SHELL, command, ...args] };
}

/** Whether a terminal's program has not ended yet; where that cannot be seen, it has. */
async function isRunning(terminal: vscode.Terminal): Promise<boolean> {
  const id = String(await terminal.processId);
  try {
    return readFileSync(`/proc/${id}/task/${id}/children`, "utf8").trim() !== "";
  } catch {
    return false;
  }
}
