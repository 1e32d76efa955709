/** Where VS Code begins: joins the parts. */
import * as vscode from "vscode";

import { Calm } from "./calm";
import { Server } from "./client";
import { registerCommands } from "./commands";
import { registerCompletion } from "./completion";
import { Edits } from "./edit";
import { NAMES_PROGRAMS } from "./environment";
import { Explanations } from "./explain";
import { tell } from "./faults";
import type { Stats } from "./protocol";
import { registerStatistics } from "./statistics";
import { StatusBar } from "./status";
import { began, Welcome } from "./welcome";

/** What tests see of the extension. */
export interface Api {
  server: Server;
  edits: Edits;
  explanations: Explanations;
  status: StatusBar;
  /** Stirred by settings that name programs. */
  programs: Calm;
}

let running: Server | undefined;

export function activate(context: vscode.ExtensionContext): Api {
  const log = vscode.window.createOutputChannel("Copydraft", { log: true });
  const server = new Server(context, log);
  running = server;
  const status = new StatusBar(server);
  const took = (stats: Stats): void => {
    status.took(stats);
  };
  const edits = new Edits(server, context, took);
  const explanations = new Explanations(server, context, took);

  const restart = async (): Promise<void> => {
    edits.stopRunning();
    await server.restart();
  };
  const programs = new Calm(() => {
    // Those of a folder among others may change, too, and do not count.
    if (server.outdated) restart().catch(tell);
  });

  context.subscriptions.push(
    log,
    new Welcome(context, log, server, restart),
    registerStatistics(context, server),
    server,
    status,
    edits,
    explanations,
    registerCompletion(server),
    registerCommands(context, server, log, restart),
    programs,
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (NAMES_PROGRAMS.some((key) => event.affectsConfiguration(key))) programs.stir();
    }),
  );
  // Not waited for: VS Code shows "Activating Extensions…" until this returns.
  server.start().catch((error: unknown) => began(context, error));
  return { server, edits, explanations, status, programs };
}

export async function deactivate(): Promise<void> {
  await running?.end();
}
