/** Runs programs that tell line by line how far they are. */
import { spawn } from "node:child_process";
import type * as vscode from "vscode";

/** A program to start; `env` is added to this process's environment. */
export interface Program {
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
}

/** How a program ended. */
export interface Ended {
  /** Exit status; 130 where it was cancelled. */
  status: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  cwd?: string;
  /** Gets every line of stderr as it comes. */
  onLine?: (line: string) => void;
  /** Interrupts the program as Ctrl-C would. */
  cancel?: vscode.CancellationToken | undefined;
  timeoutMs?: number;
}

const CANCELLED = 130;
const FAILED = 1;

/** Run a program to its end. Throws an Error where it cannot be started. */
export function run(program: Program, args: string[], options: RunOptions = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program.command, [...program.args, ...args], {
      env: { ...process.env, ...program.env },
      stdio: ["ignore", "pipe", "pipe"],
      ...(options.cwd !== undefined && { cwd: options.cwd }),
      ...(options.timeoutMs !== undefined && { timeout: options.timeoutMs }),
    });
    const ended: Ended = { status: FAILED, stdout: "", stderr: "" };
    let partial = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (ended.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      ended.stderr += text;
      const lines = (partial + text).split("\n");
      partial = lines.pop() ?? "";
      for (const line of lines) options.onLine?.(line);
    });
    const interrupt = (): void => {
      child.kill("SIGINT");
    };
    const listening = options.cancel?.onCancellationRequested(interrupt);
    if (options.cancel?.isCancellationRequested) interrupt();
    child.on("error", (error) => {
      listening?.dispose();
      reject(new Error(`${program.command} does not start: ${error.message}`));
    });
    child.on("close", (status) => {
      listening?.dispose();
      const cancelled = options.cancel?.isCancellationRequested;
      resolve({ ...ended, status: cancelled ? CANCELLED : (status ?? FAILED) });
    });
  });
}

/** What a failed command of copydraft's says: its message, without its hint and its name. */
export function faultOf(ended: Ended): string {
  const lines = ended.stderr.trimEnd().split("\n");
  const at = lines.findLastIndex((line) => line.startsWith("copydraft:"));
  const told = at < 0 ? lines.slice(-1) : lines.slice(at);
  const text = told.map((line) => line.replace(/^copydraft:\s*|^\s*(→\s*)?/, "")).join(" ");
  return text.trim() || `exit status ${ended.status}`;
}
