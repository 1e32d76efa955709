/** Asks for an instruction, with what was asked before. */
import * as vscode from "vscode";

const KEPT = 50;

export class History {
  constructor(
    private readonly memory: vscode.Memento,
    private readonly key: string,
  ) {}

  get entries(): readonly string[] {
    return this.memory.get<string[]>(this.key, []);
  }

  /** The latest first, each once. */
  async add(entry: string): Promise<void> {
    const others = this.entries.filter((one) => one !== entry);
    await this.memory.update(this.key, [entry, ...others].slice(0, KEPT));
  }
}

/** What the user typed or chose; undefined where they escaped. Whatever is typed is an answer. */
export function askFor(
  title: string,
  placeholder: string,
  history: History,
): Promise<string | undefined> {
  const input = vscode.window.createQuickPick();
  input.title = title;
  input.placeholder = placeholder;
  input.ignoreFocusOut = true;
  const offer = (value: string): void => {
    const typed: vscode.QuickPickItem[] = value.trim() ? [{ label: value, alwaysShow: true }] : [];
    const before = history.entries
      .filter((entry) => entry !== value)
      .map((label) => ({ label, iconPath: new vscode.ThemeIcon("history") }));
    input.items = [...typed, ...before];
  };
  offer("");
  return new Promise((resolve) => {
    input.onDidChangeValue(offer);
    input.onDidAccept(() => {
      // After a quick Enter the active item may be one of those before the last key.
      const active = input.activeItems.find((item) => input.items.includes(item));
      const chosen = (active?.label ?? input.value).trim();
      if (!chosen) return;
      resolve(chosen);
      input.hide();
    });
    input.onDidHide(() => {
      resolve(undefined);
      input.dispose();
    });
    input.show();
  });
}
