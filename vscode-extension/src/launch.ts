/** The language server's process, and a language client that is quiet where its start fails. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

import type { Program } from "./programs";

/** Start a program that talks over its pipes. Throws an Error whose message is for the user. */
export function launched({ command, args, env }: Program): Promise<ChildProcess> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      ...(folder?.scheme === "file" && existsSync(folder.fsPath) && { cwd: folder.fsPath }),
    });
    child.once("spawn", () => {
      resolve(child);
    });
    child.once("error", (error) => {
      reject(new Error(`${command}: ${error.message}`));
    });
  });
}

/** End a process at once, and what waits for its output. */
export function kill(child: ChildProcess | undefined): void {
  if (child?.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  child.stdout?.destroy();
}

/** How a process ended, for messages; "" while it runs. */
export function endOf(child: ChildProcess | undefined): string {
  if (typeof child?.exitCode === "number") return `it ended with status ${child.exitCode}`;
  return child?.signalCode ? `it was ended by ${child.signalCode}` : "";
}

export class QuietClient extends LanguageClient {
  /** A client whose start fails stops itself, which throws, and nobody waits for that. */
  override async stop(timeout?: number): Promise<void> {
    try {
      await super.stop(timeout);
    } catch (error) {
      this.warn(String(error), undefined, false);
    }
  }

  /** One that ends meanwhile misses nothing: another one is told of whole documents. */
  override async sendNotification(type: unknown, params?: unknown): Promise<void> {
    try {
      await super.sendNotification(type as string, params);
    } catch (error) {
      this.warn(String(error), undefined, false);
    }
  }

  /** What goes wrong is told where it was caused, not a second time. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}
