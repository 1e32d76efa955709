/**
 * Copydraft's command line in terminals.
 *
 * Not as tasks, which save whatever the user has not saved yet, and not typed into a shell, which
 * would read the arguments its own way.
 */
import { readFile } from "node:fs/promises";
import * as vscode from "vscode";

import type { Program } from "./programs";

const SHELL = "/bin/sh";
/** Stays until Ctrl+C; what other extensions type into new terminals is lost here. */
const STAYS = 'trap "exit 0" INT; while read -r _; do :; done';
const ENDED = "ended";
/** Runs what follows it, then stays, and is told by its command line from one that still runs. */
const RUNS =
  'trap : INT; "$@"; ' +
  'printf "\\nIt ended with status %s. Ctrl+C closes this terminal.\\n" "$?"; ' +
  `exec "$0" -c '${STAYS}' ${ENDED}`;

/** The terminals by their names and folders; one that was closed may still be here. */
const opened = new Map<string, vscode.Terminal>();

/** Run a command in a terminal of that name; one in which it still runs there is shown instead. */
export async function runInTerminal(name: string, program: Program, cwd?: string): Promise<void> {
  const key = `${name} ${cwd ?? ""}`;
  const before = opened.get(key);
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
    // There, null is what takes a variable away.
    env: Object.fromEntries(Object.entries(program.env).map(([key, to]) => [key, to ?? null])),
    iconPath: new vscode.ThemeIcon("copy"),
    isTransient: true,
    ...(cwd !== undefined && { cwd }),
  });
  opened.set(key, terminal);
  terminal.show();
}

/** A program as the shell of a terminal that its output outlives. */
export function asShell({ command, args }: Program): { shellPath: string; shellArgs: string[] } {
  return { shellPath: SHELL, shellArgs: ["-c", RUNS, SHELL, command, ...args] };
}

/** Whether a terminal's program has not ended yet; where that cannot be seen, it has. */
async function isRunning(terminal: vscode.Terminal): Promise<boolean> {
  try {
    const words = await readFile(`/proc/${String(await terminal.processId)}/cmdline`, "utf8");
    return words.split("\0")[3] !== ENDED;
  } catch {
    return false;
  }
}
