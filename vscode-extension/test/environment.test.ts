import assert from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";

import { atHome, besideServer, problemOfPython } from "../src/environment";
import { faultOf, run } from "../src/programs";
import { Stages } from "../src/setup";
import { test } from "./runner";

/** An executable of that name, in a directory of its own, that runs shell commands. */
export async function script(name: string, commands: string): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), "copydraft-test-")), name);
  await writeFile(path, `#!/bin/sh\n${commands}\n`, { mode: 0o755 });
  return path;
}

const program = (command: string) => ({ command, args: [], env: {} });

test("the command line is the one beside the server", async () => {
  const cli = await script("copydraft", "");
  const server = cli.replace(/copydraft$/, "copydraft-lsp");
  assert.deepEqual(besideServer(server, []), program(cli));
});

test("a server that Python runs as a module has the command line beside it", () => {
  const found = besideServer("/opt/python", ["-P", "-m", "copydraft_lsp", "--verbose"]);
  assert.deepEqual(found, { command: "/opt/python", args: ["-P", "-m", "copydraft"], env: {} });
});

test("no command line is made up beside a server that has none", () => {
  assert.equal(besideServer("/nowhere/copydraft-lsp", []), undefined);
});

test("a path in the settings may begin with the user's home as shells write it", () => {
  assert.equal(atHome("~/venv/bin/python"), `${homedir()}/venv/bin/python`);
  assert.equal(atHome("/opt/~/python"), "/opt/~/python");
  assert.equal(atHome("copydraft-lsp"), "copydraft-lsp");
});

test("a Python without copydraft is told by its own words", async () => {
  const python = await script(
    "python",
    'echo "ModuleNotFoundError: No module named x" >&2; exit 1',
  );
  assert.equal(await problemOfPython(python), "ModuleNotFoundError: No module named x");
});

test("a Python that is not there is told", async () => {
  assert.match(await problemOfPython("/nowhere/python"), /^\/nowhere\/python does not start: /);
});

test("the stages of a set-up are read from its lines", () => {
  const stages = new Stages();
  const lines = [
    "making .venv …",
    "making .venv: done, 0:03",
    "installing packages …",
    "  10 %, 0:10",
  ];
  assert.deepEqual(
    lines.map((line) => stages.read(line)),
    ["making .venv …", "", "installing packages …", "installing packages … 10 %"],
  );
});

test("a failed set-up says what failed and what mends it", () => {
  const stderr =
    "installing packages …\ncopydraft: no C compiler is found\n  Install one, then run this again.\n";
  const ended = { status: 1, stdout: "", stderr };
  assert.equal(faultOf(ended), "no C compiler is found Install one, then run this again.");
});

test("lines of a program come as they are written", async () => {
  const lines: string[] = [];
  const echo = await script("echo", "printf 'one\\ntw' >&2; printf 'o\\n' >&2; echo out");
  const ended = await run(program(echo), [], { onLine: (line) => lines.push(line) });
  assert.deepEqual([lines, ended.stdout, ended.status], [["one", "two"], "out\n", 0]);
});

test("cancelling interrupts a program as Ctrl-C would", async () => {
  const source = new vscode.CancellationTokenSource();
  const waiting = await script(
    "wait",
    "trap 'echo stopped; exit 130' INT; echo begun >&2; sleep 30 & wait",
  );
  const ended = await run(program(waiting), [], {
    cancel: source.token,
    onLine: () => {
      source.cancel();
    },
  });
  assert.deepEqual([ended.status, ended.stdout], [130, "stopped\n"]);
  source.dispose();
});
