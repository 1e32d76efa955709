/** Faults, as users are told of them. */
import * as vscode from "vscode";

import type { FaultData } from "./protocol";

const REQUEST_CANCELLED = -32800;
/** What the language client answers with where the connection is gone: -32099 to -32096. */
const CONNECTION_LOST = [-32099, -32096] as const;

/** What the language server answers instead of a result. */
export class Fault extends Error {
  constructor(
    message: string,
    readonly code = "",
  ) {
    super(message);
  }
}

/** A button of an error message, and the command that it runs. */
export type Button = readonly [title: string, command: string];

export const SHOW_LOGS: Button = ["Show Logs", "copydraft.showLogs"];
export const SET_UP: Button = ["Set Up", "copydraft.setUp"];
export const CHOOSE_PYTHON: Button = ["Choose Python…", "copydraft.choosePython"];
export const CHOOSE_MODEL: Button = ["Choose Model…", "copydraft.chooseModel"];
export const DOCTOR: Button = ["Doctor", "copydraft.doctor"];
export const RESTART: Button = ["Restart", "copydraft.restart"];
/** Progress is in a notification, which may be hidden by now. */
export const SHOW_PROGRESS: Button = ["Show Progress", "notifications.showList"];
const RESTART_DAEMON: Button = ["Restart Daemon", "copydraft.daemonRestart"];

/** What helps against faults of the language server's, by their codes. */
const HELP: Record<string, readonly Button[]> = {
  // Missing, damaged or unknown; or too large for this machine.
  model: [CHOOSE_MODEL, SHOW_LOGS, DOCTOR],
  memory: [CHOOSE_MODEL, SHOW_LOGS, DOCTOR],
  // Another window or a terminal has updated copydraft: the older of the two is started again.
  version: [RESTART, RESTART_DAEMON, SHOW_LOGS],
  daemon: [RESTART_DAEMON, SHOW_LOGS, DOCTOR],
};

/** A fault that knows which buttons help; its message is for the user. */
export class HelpfulError extends Error {
  constructor(
    message: string,
    readonly buttons: readonly Button[],
  ) {
    super(message);
  }
}

/** Whatever a request failed with, as an Error whose message is one line for the user. */
export function asFault(error: unknown): Error {
  if (error instanceof vscode.CancellationError || error instanceof Fault) return error;
  if (error instanceof HelpfulError) return error;
  const { code, data, message } = (error ?? {}) as {
    code?: number;
    data?: Partial<FaultData>;
    message?: string;
  };
  if (code === REQUEST_CANCELLED) return new vscode.CancellationError();
  const [first, last] = CONNECTION_LOST;
  if (code !== undefined && first <= code && code <= last)
    return new Fault("the language server ended", "connection");
  // A button chooses and downloads models; terminals may not know the command that does.
  const told = data?.hint?.includes("`copydraft model ") ? data.message : message;
  return new Fault(told ?? String(error), data?.code ?? "");
}

/** What helps against a fault. */
export function buttonsOf(fault: Error): readonly Button[] {
  if (fault instanceof HelpfulError) return fault.buttons;
  const code = fault instanceof Fault ? fault.code : "";
  return HELP[code] ?? [SHOW_LOGS, DOCTOR];
}

/** Tell the user, with buttons that help. A cancelled request is no fault. */
export async function tell(error: unknown): Promise<void> {
  const fault = asFault(error);
  if (fault instanceof vscode.CancellationError) return;
  const buttons = buttonsOf(fault);
  const titles = buttons.map(([title]) => title);
  const chosen = await vscode.window.showErrorMessage(`Copydraft: ${fault.message}`, ...titles);
  const command = buttons.find(([title]) => title === chosen)?.[1];
  if (command) await vscode.commands.executeCommand(command);
}
