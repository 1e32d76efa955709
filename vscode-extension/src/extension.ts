/** Where VS Code begins: joins the parts. */
import * as vscode from "vscode";

import { Server } from "./client";
import { registerCommands } from "./commands";
import { registerCompletion } from "./completion";
import { Edits } from "./edit";
import { Explanations } from "./explain";
import { tell } from "./faults";
import { registerStatistics } from "./statistics";
import { StatusBar } from "./status";
import { began, Welcome } from "./welcome";

/** What tests see of the extension. */
export interface Api {
  server: Server;
  edits: Edits;
  explanations: Explanations;
  status: StatusBar;
}

let running: Server | undefined;

export function activate(context: vscode.ExtensionContext): Api {
  const log = vscode.window.createOutputChannel("Copydraft", { log: true });
  const server = new Server(context, log);
  running = server;
  const status = new StatusBar(server);
  const edits = new Edits(server, context, (stats) => {
    status.took(stats);
  });
  const explanations = new Explanations(server, context, (stats) => {
    status.took(stats);
  });

  const restart = async (): Promise<void> => {
    edits.stopRunning();
    await server.restart();
  };

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
    vscode.workspace.onDidChangeConfiguration((event) => {
      const programs = ["copydraft.server.command", "copydraft.python"];
      if (programs.some((key) => event.affectsConfiguration(key))) restart().catch(tell);
    }),
  );
  // Not waited for: VS Code shows "Activating Extensions…" until this returns.
  server.start().catch((error: unknown) => began(context, error));
  return { server, edits, explanations, status };
}

export async function deactivate(): Promise<void> {
  await running?.end();
}
