/** The settings that the language server knows, as the user has them. */
import * as vscode from "vscode";

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
  const values = vscode.workspace.getConfiguration("copydraft");
  return Object.fromEntries(SERVER_SETTINGS.map((key) => [key, values.get(key)]));
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
export async function clearSetting(key: string): Promise<void> {
  const settings = vscode.workspace.getConfiguration("copydraft");
  const { Global, Workspace } = vscode.ConfigurationTarget;
  const set = settings.inspect(key);
  if (set?.workspaceValue !== undefined) await settings.update(key, undefined, Workspace);
  if (set?.globalValue !== undefined) await settings.update(key, undefined, Global);
}
