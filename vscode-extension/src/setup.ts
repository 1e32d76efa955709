/**
 * The extension's own environment, in its global storage.
 *
 * The extension carries copydraft's wheel, its pinned requirements and the scripts that set up a
 * checkout (`dist/setup`). They are copied into the storage, for what the environment is made from
 * has to outlive an update of the extension, and run there by the system's Python.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import {
  copyFile,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import * as vscode from "vscode";

import {
  asFault,
  CHOOSE_PYTHON,
  HelpfulError,
  SET_UP,
  SHOW_LOGS,
  SHOW_PROGRESS,
  tell,
} from "./faults";
import { faultOf, type Program, run } from "./programs";

/** Written when a set-up has come to its end. */
const MARK = "payload.txt";
/** The path of the Python that the user chose. */
const CHOSEN = "python.txt";
const ANY_PYTHON = "python3";
const ELSEWHERE =
  "it runs on Linux. Open the folder in WSL, or on a Linux machine by Remote-SSH, and set it up there.";
const TITLE = "Setting up Copydraft";
/** What the user tells the Pythons of their own would lead ours to other packages. */
const ALONE: NodeJS.ProcessEnv = { PYTHONPATH: undefined, PYTHONHOME: undefined };
const RETRY = ["Retry", "copydraft.setUp"] as const;

class SetupFailed extends HelpfulError {
  constructor(message: string) {
    super(message, [RETRY, CHOOSE_PYTHON, SHOW_LOGS]);
  }
}

/** What is asked for has to wait for the set-up. */
export class BeingSetUp extends HelpfulError {
  constructor() {
    super("it is still being set up.", [SHOW_PROGRESS]);
  }
}

/**
 * The program of this name in the extension's own environment; undefined where that is not made.
 *
 * Throws a HelpfulError where it is broken.
 */
export async function ownProgram(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  name: string,
): Promise<Program | undefined> {
  const here = place(context);
  const program = join(here, ".venv", "bin", name);
  const made = await mark(here);
  // A set-up that never came to its end is not gone on with unasked.
  if (made === "" || !existsSync(program)) return undefined;
  const whole = await isWhole(here);
  if (!whole && isSettingUp()) throw new BeingSetUp();
  if (!whole)
    throw new HelpfulError(
      "its environment is broken: the Python that it was made with is gone, or its last set-up was " +
        "interrupted.",
      [SET_UP, CHOOSE_PYTHON, SHOW_LOGS],
    );
  const carried = await mark(payload(context));
  if (![made, "", refused].includes(carried)) await renew(context, log, carried);
  return { command: program, args: [], env: ALONE };
}

/** What this window could not renew the environment from; it is not tried at every start. */
let refused = "";

/** The extension was updated: so is its environment, which the user has agreed to have. */
async function renew(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  carried: string,
): Promise<void> {
  try {
    await setUp(context, log);
  } catch (error) {
    if (!(await isWhole(place(context)))) throw error;
    refused = carried;
    const fault = asFault(error);
    const why = fault instanceof vscode.CancellationError ? "it was stopped" : fault.message;
    log.warn(`not updated: ${why}`);
    const buttons = fault instanceof HelpfulError ? fault.buttons : [RETRY];
    void tell(
      new HelpfulError(
        `it could not be updated, and goes on as it was set up before: ${why}`,
        buttons,
      ),
    );
  }
}

/**
 * Whether an environment can be run: its Python is the one that it was made with, and llama.cpp is
 * in it. `scripts/bootstrap/environment.py` writes that down.
 */
async function isWhole(folder: string): Promise<boolean> {
  try {
    const python = await realpath(join(folder, ".venv", "bin", "python"));
    const stamp = await readFile(join(folder, ".venv", "setup.json"), "utf8");
    const { place: where, engine } = JSON.parse(stamp) as { place?: string; engine?: string };
    return where === `${await realpath(folder)} ${python}` && engine !== undefined;
  } catch {
    return false;
  }
}

/** Whether this extension carries what an environment is made of: one run from its source does not. */
export function carriesPayload(context: vscode.ExtensionContext): boolean {
  return existsSync(join(payload(context), MARK));
}

let running: Promise<void> | undefined;
const changes = new vscode.EventEmitter<void>();
/** A set-up has begun or ended. */
export const onSettingUp = changes.event;

/** Whether an environment is being made or renewed now. */
export function isSettingUp(): boolean {
  return running !== undefined;
}

/**
 * Make or renew the environment, with progress in a notification: by that Python, or else by the
 * one that was chosen before.
 *
 * Throws a HelpfulError, or a vscode.CancellationError. Two callers at once share one run.
 */
export function setUp(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  python?: string,
): Promise<void> {
  if (running) return running;
  running = setUpOnce(context, log, python).finally(() => {
    running = undefined;
    changes.fire();
  });
  changes.fire();
  return running;
}

async function setUpOnce(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  given: string | undefined,
): Promise<void> {
  if (process.platform !== "linux") throw new HelpfulError(ELSEWHERE, []);
  await copyPayload(context);
  const python = await chosenPython(place(context), given);
  const location = vscode.ProgressLocation.Notification;
  await vscode.window.withProgress(
    { location, title: TITLE, cancellable: true },
    (progress, token) =>
      bootstrap(
        context,
        log,
        python,
        (message) => {
          progress.report({ message });
        },
        token,
      ),
  );
  await writeFile(join(place(context), MARK), await mark(payload(context)));
}

async function bootstrap(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  python: string,
  report: (message: string) => void,
  token: vscode.CancellationToken,
): Promise<void> {
  const stopper = new vscode.CancellationTokenSource();
  const stop = (): void => {
    stopper.cancel();
  };
  // A window that closes ends what it began; the next set-up goes on from there.
  context.subscriptions.push(new vscode.Disposable(stop));
  const listening = token.onCancellationRequested(stop);
  const stages = new Stages();
  const program: Program = {
    command: python,
    args: [join(place(context), "scripts", "run")],
    env: ALONE,
  };
  try {
    const ended = await run(program, ["--version"], {
      cancel: stopper.token,
      onLine: (line) => {
        log.info(line);
        const message = stages.read(line);
        if (message) report(message);
      },
    });
    if (stopper.token.isCancellationRequested) throw new vscode.CancellationError();
    if (ended.status !== 0) throw new SetupFailed(faultOf(ended));
    log.info(ended.stdout.trim());
  } catch (error) {
    if (error instanceof SetupFailed || error instanceof vscode.CancellationError) throw error;
    throw new SetupFailed(error instanceof Error ? error.message : String(error));
  } finally {
    listening.dispose();
    stopper.dispose();
  }
}

/** Reads how far the set-up is from its lines: "building llama.cpp … 40 %". */
export class Stages {
  private stage = "";

  /** What to show after this line; "" if nothing new. */
  read(line: string): string {
    const share = /^ {2}(\d+ %), /.exec(line);
    if (share) return `${this.stage} … ${share[1] ?? ""}`;
    const begun = /^(.+) …$/.exec(line);
    if (!begun) return "";
    this.stage = begun[1] ?? "";
    return `${this.stage} …`;
  }
}

/** The Python to set up with; one that is given is remembered, also for where that fails. */
async function chosenPython(folder: string, given: string | undefined): Promise<string> {
  const file = join(folder, CHOSEN);
  if (given !== undefined) await writeFile(file, given);
  const chosen = given ?? (await readFile(file, "utf8").catch(() => ""));
  return existsSync(chosen) ? chosen : (given ?? ANY_PYTHON);
}

/** Another window may set up from what is there already: it never sees a file that is not whole. */
async function copyPayload(context: vscode.ExtensionContext): Promise<void> {
  const [from, to] = [payload(context), place(context)];
  if (!carriesPayload(context))
    throw new SetupFailed("this extension was not packaged: set copydraft.python instead");
  for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && entry.name !== MARK) await replace(path, join(to, relative(from, path)));
  }
  // Another version's wheel must not be taken for this one's.
  const wheel = (await mark(from)).split("\n")[0];
  for (const name of await readdir(to))
    if (name.endsWith(".whl") && name !== wheel) await rm(join(to, name), { force: true });
}

/** Put a copy of a file in the place of another, at one stroke. */
async function replace(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  const temporary = `${to}.${randomUUID()}`;
  try {
    await copyFile(from, temporary);
    await rename(temporary, to);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** The wheel's name, then a digest of all files; "" where there is none. */
async function mark(folder: string): Promise<string> {
  return readFile(join(folder, MARK), "utf8").catch(() => "");
}

function payload(context: vscode.ExtensionContext): string {
  return join(context.extensionPath, "dist", "setup");
}

function place(context: vscode.ExtensionContext): string {
  return join(context.globalStorageUri.fsPath, "server");
}
