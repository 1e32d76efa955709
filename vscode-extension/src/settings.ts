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
