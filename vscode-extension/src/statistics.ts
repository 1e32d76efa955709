/** The statistics page of the daemon, in a view of VS Code. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import * as vscode from "vscode";

import type { Server } from "./client";
import { tell } from "./faults";

/** What the page may read. */
const READABLE = /^\/v1\/(status|stats|last)(\?[\w=&]*)?$/;
const TIMEOUT_MS = 10_000;
const NO_DAEMON = "no daemon runs; the next request starts one";

export class StatisticsView implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private readonly daemon: DaemonReader;

  constructor(
    server: Server,
    private readonly context: vscode.ExtensionContext,
  ) {
    this.daemon = new DaemonReader(server);
  }

  /** Open the view, or bring it to the front. */
  async show(): Promise<void> {
    if (this.panel) {
      this.panel.reveal();
      return;
    }
    const panel = vscode.window.createWebviewPanel(
      "copydraft.statistics",
      "Copydraft Statistics",
      vscode.ViewColumn.Active,
      { enableScripts: true, localResourceRoots: [] },
    );
    this.panel = panel;
    panel.onDidDispose(() => {
      this.panel = undefined;
    });
    panel.webview.onDidReceiveMessage((message: { id: number; path: string }) =>
      this.answer(panel, message),
    );
    panel.webview.html = await page(folder(this.context));
  }

  dispose(): void {
    this.panel?.dispose();
  }

  private async answer(
    panel: vscode.WebviewPanel,
    { id, path }: { id: number; path: string },
  ): Promise<void> {
    let reply: object;
    try {
      reply = { id, data: await this.daemon.read(path) };
    } catch (error) {
      reply = { id, error: error instanceof Error ? error.message : String(error) };
    }
    // The view may be gone by now.
    if (this.panel === panel) await panel.webview.postMessage(reply);
  }
}

/** What the page may know of the daemon, which is not started for it. */
export class DaemonReader {
  /** Path of its socket, as long as it answers. */
  private socket: string | undefined;

  constructor(private readonly server: Server) {}

  /** The daemon's answer to GET `path`. Throws an Error whose message is for the user. */
  async read(path: string): Promise<unknown> {
    if (!READABLE.test(path)) throw new Error(`the page may not read ${path}`);
    this.socket ??= await this.findSocket();
    try {
      return await get(this.socket, path);
    } catch (error) {
      this.socket = undefined;
      throw error;
    }
  }

  private async findSocket(): Promise<string> {
    if (!this.server.running) throw new Error("the language server does not run");
    const status = await this.server.ask<{ daemon: { socket: string } | null }>("copydraft.status");
    if (!status.daemon) throw new Error(NO_DAEMON);
    return status.daemon.socket;
  }
}

export function registerStatistics(
  context: vscode.ExtensionContext,
  server: Server,
): vscode.Disposable {
  const view = new StatisticsView(server, context);
  const command = vscode.commands.registerCommand("copydraft.showStatistics", () =>
    view.show().catch(tell),
  );
  return vscode.Disposable.from(view, command);
}

/** Where the page's files are: in the package, or in the checkout that this runs from. */
function folder(context: vscode.ExtensionContext): string {
  const packaged = join(context.extensionPath, "dist", "web");
  return existsSync(packaged)
    ? packaged
    : join(context.extensionPath, "..", "daemon", "copydraft", "web");
}

/** The page with style and scripts in it, as the daemon makes it for a browser (`api/web.py`). */
export async function page(files: string): Promise<string> {
  const names = ["statistics.html", "statistics.css", "charts.js", "statistics.js"];
  const texts = await Promise.all(names.map((name) => readFile(join(files, name), "utf8")));
  const [html = "", style = "", charts = "", script = ""] = texts;
  const nonce = randomBytes(16).toString("base64url");
  const filled: Record<string, string> = {
    policy:
      `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; ` +
      "base-uri 'none'; form-action 'none'",
    nonce,
    style,
    script: charts + script,
  };
  return html.replace(/\{\{(\w+)\}\}/g, (_, name: string) => filled[name] ?? "");
}

/** GET on the daemon's socket: its JSON. Throws an Error whose message is for the user. */
function get(socketPath: string, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, timeout: TIMEOUT_MS }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        try {
          const data = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { message?: string };
          if (response.statusCode === 200) resolve(data);
          else reject(new Error(data.message ?? `HTTP ${response.statusCode ?? ""}`));
        } catch {
          reject(new Error("the daemon's answer is no JSON"));
        }
      });
    });
    asked.on("timeout", () => asked.destroy(new Error("the daemon does not answer")));
    asked.on("error", (error: NodeJS.ErrnoException) => {
      const gone = error.code === "ENOENT" || error.code === "ECONNREFUSED";
      reject(gone ? new Error(NO_DAEMON) : error);
    });
    asked.end();
  });
}
