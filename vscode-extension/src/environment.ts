/**
 * Where copydraft's programs are: those that the user named, else those in an environment that
 * this extension makes for itself, else those on the search path.
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import * as vscode from "vscode";

import { CHOOSE_PYTHON, HelpfulError, SET_UP, SHOW_LOGS } from "./faults";
import { type Program, run } from "./programs";
import { ofMachine } from "./settings";
import { BeingSetUp, isSettingUp, ownProgram } from "./setup";

/** No copydraft is here yet. */
export class NotSetUp extends HelpfulError {
  constructor() {
    super("it is not set up yet.", [SET_UP, CHOOSE_PYTHON]);
  }
}

const SERVER = "copydraft-lsp";
const CLI = "copydraft";
/** The settings that say which copydraft is run. */
export const NAMES_PROGRAMS = ["copydraft.server.command", "copydraft.python"] as const;
const MODULES: Record<string, string> = { [SERVER]: "copydraft_lsp", [CLI]: "copydraft" };

/** What the settings say of which copydraft is run; another text where they say something else. */
export function namedPrograms(): string {
  return JSON.stringify([ofMachine("server.command"), ofMachine("python")]);
}

/** How to start the language server. Throws an Error whose message is for the user. */
export function serverCommand(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
): Promise<Program> {
  const { command, args } = givenCommand();
  if (command) return Promise.resolve({ command, args, env: {} });
  return find(SERVER, context, log);
}

/** How to start the command line, of the same installation as `serverCommand`. Throws as that. */
export function cliCommand(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
): Promise<Program> {
  const { command, args } = givenCommand();
  if (!command) return find(CLI, context, log);
  const beside = besideServer(command, args);
  if (beside) return Promise.resolve(beside);
  const found = onSearchPath(CLI);
  if (found) return Promise.resolve(plain(found));
  throw new Error(`There is no command copydraft beside ${command}, nor on the search path.`);
}

/** What `copydraft.server.command` says; `command` is "" where it says nothing. */
function givenCommand(): { command: string; args: string[] } {
  const [command = "", ...args] = ofMachine("server.command");
  return { command: atHome(command), args };
}

/** A path with the user's home in place of a `~`, as shells write it. */
export function atHome(path: string): string {
  return path.replace(/^~(?=\/)/, homedir());
}

async function find(
  name: string,
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
): Promise<Program> {
  const python = atHome(ofMachine("python").trim());
  if (python) return ofPython(python, name, log);
  const own = await ownProgram(context, log, name);
  if (own) return own;
  const found = onSearchPath(name) ?? inCheckout(context, name);
  if (found) return plain(found);
  throw isSettingUp() ? new BeingSetUp() : new NotSetUp();
}

async function ofPython(
  python: string,
  name: string,
  log: vscode.LogOutputChannel,
): Promise<Program> {
  const problem = await problemOfPython(python);
  if (problem) {
    log.error(`${python}: ${problem}`);
    const buttons = [CHOOSE_PYTHON, SET_UP, SHOW_LOGS];
    throw new HelpfulError(`${python} cannot run copydraft: ${problem}.`, buttons);
  }
  // -P: a module of the workspace must not take the place of one of Python's.
  return { command: python, args: ["-P", "-m", MODULES[name] ?? name], env: {} };
}

/** Why a Python cannot run copydraft; "" where it can. */
export async function problemOfPython(python: string): Promise<string> {
  const check = ["-c", "import sys; sys.path[:] = sys.path[1:]; import copydraft_lsp"];
  try {
    const ended = await run(plain(python), check, { timeoutMs: 20_000 });
    if (ended.status === 0) return "";
    return ended.stderr.trim().split("\n").at(-1) ?? `exit status ${ended.status}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The command line that belongs to a server: in the same directory, or a module beside it. */
export function besideServer(command: string, args: string[]): Program | undefined {
  const module = args.indexOf("copydraft_lsp");
  if (module > 0 && args[module - 1] === "-m")
    return { command, args: [...args.slice(0, module), "copydraft"], env: {} };
  const beside = join(dirname(command), CLI);
  return existsSync(beside) ? plain(beside) : undefined;
}

function onSearchPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(existsSync);
}

/** For those who work on the extension: the checkout's own environment. */
function inCheckout(context: vscode.ExtensionContext, name: string): string | undefined {
  if (context.extensionMode === vscode.ExtensionMode.Production) return undefined;
  const program = join(context.extensionPath, "..", ".venv", "bin", name);
  return existsSync(program) ? program : undefined;
}

function plain(command: string): Program {
  return { command, args: [], env: {} };
}
