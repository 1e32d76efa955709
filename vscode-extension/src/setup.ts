/**
 * The extension's own environment, in its global storage.
 *
 * The extension carries copydraft's wheel, its pinned requirements and the scripts that set up a
 * checkout (`dist/setup`). They are copied into the storage, for what the environment is made from
 * has to outlive an update of the extension, and run there by the system's Python.
 */
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";

import { CHOOSE_PYTHON, HelpfulError, SHOW_LOGS } from "./faults";
import { faultOf, type Program, run } from "./programs";

const MARK = "payload.txt";
const FILES = ["scripts", "requirements.txt", "requirements-build.txt", "requirements-engine.txt"];
const TITLE = "Setting up Copydraft";

class SetupFailed extends HelpfulError {
  constructor(message: string) {
    super(message, [["Retry", "copydraft.setUp"], CHOOSE_PYTHON, SHOW_LOGS]);
  }
}

/** The program of this name in the extension's own environment; undefined where that is not made. */
export async function ownProgram(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  name: string,
): Promise<string | undefined> {
  const program = join(place(context), ".venv", "bin", name);
  if (!existsSync(program)) return undefined;
  // The extension was updated: so is its environment, which the user has agreed to have.
  const carried = await mark(payload(context));
  if (carried !== "" && carried !== (await mark(place(context)))) await setUp(context, log);
  return program;
}

/** Whether this extension carries what an environment is made of: one run from its source does not. */
export function carriesPayload(context: vscode.ExtensionContext): boolean {
  return existsSync(join(payload(context), MARK));
}

let running: Promise<void> | undefined;

/**
 * Make or renew the environment, with progress in a notification.
 *
 * Throws a HelpfulError, or a vscode.CancellationError. Two callers at once share one run.
 */
export function setUp(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  python = "python3",
): Promise<void> {
  running ??= setUpOnce(context, log, python).finally(() => {
    running = undefined;
  });
  return running;
}

async function setUpOnce(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  python: string,
): Promise<void> {
  await copyPayload(context);
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
  const watching = [token.onCancellationRequested(stop), new vscode.Disposable(stop)];
  context.subscriptions.push(...watching);
  const stages = new Stages();
  const program: Program = {
    command: python,
    args: [join(place(context), "scripts", "run")],
    env: {},
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
    watching[0]?.dispose();
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

async function copyPayload(context: vscode.ExtensionContext): Promise<void> {
  const [from, to] = [payload(context), place(context)];
  if (!carriesPayload(context))
    throw new SetupFailed("this extension was not packaged: set copydraft.python instead");
  await mkdir(to, { recursive: true });
  const wheel = (await mark(from)).split("\n")[0] ?? "";
  // Another version's wheel must not be taken for this one's.
  for (const old of await vscode.workspace.fs.readDirectory(vscode.Uri.file(to)))
    if (old[0].endsWith(".whl")) await rm(join(to, old[0]));
  for (const name of [...FILES, wheel])
    await cp(join(from, name), join(to, name), { recursive: true });
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
