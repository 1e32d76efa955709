/** The extension's settings, as the user has them. */
import * as vscode from "vscode";

/** The settings of scope "machine-overridable". */
interface OfMachine {
  model: string;
  python: string;
  "server.command": string[];
}

/** A test compares with the manifest. */
export const OF_MACHINE: readonly (keyof OfMachine)[] = ["model", "python", "server.command"];

/**
 * Those settings as VS Code last told of them. In a browser, which it takes for a window onto
 * another machine, it forgets the user's own without a word when they change any setting, until the
 * window is loaded again.
 */
const told = new Map(OF_MACHINE.map((key) => [key, current(key)]));
vscode.workspace.onDidChangeConfiguration((event) => {
  for (const key of OF_MACHINE)
    if (event.affectsConfiguration(`copydraft.${key}`)) told.set(key, current(key));
});

/** The same keys as `KEYS` in lsp/copydraft_lsp/settings.py; a test compares. */
export const SERVER_SETTINGS = [
  "model",
  "editFormat",
  "contextTokens",
  "strict",
  "temperature",
  "instructions",
  "completion",
  "disabledLanguages",
  "exclude",
] as const;

export function serverSettings(): Record<string, unknown> {
  const now = SERVER_SETTINGS.map((key) => [key, key === "model" ? ofMachine(key) : current(key)]);
  return Object.fromEntries(now) as Record<string, unknown>;
}

/** A setting that names what is on this machine; empty where it names nothing. */
export function ofMachine<Key extends keyof OfMachine>(key: Key): OfMachine[Key] {
  return told.get(key) as OfMachine[Key];
}

/** Whether completions are wanted while the user types. */
export function completionIsOn(): boolean {
  return vscode.workspace.getConfiguration("copydraft").get("completion", true);
}

/** Change a setting where it counts: a value of the workspace's wins over the user's. */
export async function setSetting(key: string, value: unknown): Promise<void> {
  const settings = vscode.workspace.getConfiguration("copydraft");
  const { Global, Workspace } = vscode.ConfigurationTarget;
  const ofWorkspace = settings.inspect(key)?.workspaceValue !== undefined;
  await settings.update(key, value, ofWorkspace ? Workspace : Global);
}

/** Take a setting back, of the workspace and of the user. */
export async function clearSetting(key: keyof OfMachine): Promise<void> {
  const settings = vscode.workspace.getConfiguration("copydraft");
  const { Global, Workspace } = vscode.ConfigurationTarget;
  const set = settings.inspect(key);
  if (set?.workspaceValue !== undefined) await settings.update(key, undefined, Workspace);
  if (set?.globalValue !== undefined) await settings.update(key, undefined, Global);
  // Where VS Code had forgotten the user's, it tells of nothing.
  told.set(key, current(key));
}

/** A setting as VS Code has it now. */
function current(key: string): unknown {
  return vscode.workspace.getConfiguration("copydraft").get(key);
}
