/** Where VS Code begins: joins the parts. */
import * as vscode from "vscode";

import { Server } from "./client";
import { registerCommands } from "./commands";
import { registerCompletion } from "./completion";
import { Edits } from "./edit";
import { Explanations } from "./explain";
import { registerStatistics } from "./statistics";
import { StatusBar } from "./status";
import { Welcome } from "./welcome";

/** What tests see of the extension. */
export interface Api {
  server: Server;
  edits: Edits;
  explanations: Explanations;
  status: StatusBar;
}

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const log = vscode.window.createOutputChannel("Copydraft", { log: true });
  const server = new Server(context, log);
  const status = new StatusBar(server);
  const edits = new Edits(server, context, (stats) => {
    status.took(stats);
  });
  const explanations = new Explanations(server, context, (stats) => {
    status.took(stats);
  });

  const start = async (begin: () => Promise<void>): Promise<void> => {
    try {
      await begin();
      status.fails("");
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      log.error(problem);
      status.fails(problem);
      throw error;
    }
  };
  const restart = async (): Promise<void> => {
    edits.rejectAll();
    await start(() => server.restart());
  };

  const welcome = new Welcome(context, log, server, restart);
  context.subscriptions.push(
    log,
    welcome,
    registerStatistics(context, server),
    server,
    status,
    edits,
    explanations,
    registerCompletion(server),
    registerCommands(context, server, log, restart),
    server.onRunning((running) => {
      // What a server was writing when it died will not come any more.
      if (!running) edits.rejectAll();
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const programs = ["copydraft.server.command", "copydraft.python"];
      if (programs.some((key) => event.affectsConfiguration(key))) restart().catch(() => undefined);
    }),
  );
  await start(() => server.start()).catch((error: unknown) => {
    // Not waited for: a message stays until somebody answers it.
    void welcome.began(error);
  });
  return { server, edits, explanations, status };
}
