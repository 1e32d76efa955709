/** Waits until something that changes has come to rest. */
import type * as vscode from "vscode";

/**
 * Acts when nothing was stirred for a while. A settings file that is being written is read half by
 * VS Code, so that what it names is gone for a moment.
 */
export class Calm implements vscode.Disposable {
  ms = 1000;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly act: () => void) {}

  stir(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.act, this.ms);
  }

  dispose(): void {
    clearTimeout(this.timer);
  }
}
