/** What the extension host runs: see tests/e2e/vscode. */
import "./hunks.test";
import "./markdown.test";
import "./activation.test";
import "./edit.test";
import "./moving.test";
import "./texts.test";
import "./keys.test";
import "./files.test";
import "./actions.test";
import "./explain.test";
import "./instruction.test";
import "./faults.test";
import "./environment.test";
import "./memory.test";
import "./models.test";
import "./setup.test";
import "./statistics.test";
import "./terminal.test";
import "./welcome.test";

import { cleanUp } from "./fixtures";
import { runAll } from "./runner";

export function run(): Promise<void> {
  return runAll(cleanUp);
}
