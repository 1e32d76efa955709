import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";

import type { Server } from "../src/client";
import { serverCommand } from "../src/environment";
import { run } from "../src/programs";
import { ownProgram, setUp } from "../src/setup";
import { StatusBar } from "../src/status";
import { script } from "./environment.test";
import { messages, until } from "./fixtures";
import { test } from "./runner";

const LSP = "copydraft-lsp";
const LOG = { info: () => undefined, warn: () => undefined } as unknown as vscode.LogOutputChannel;

/** Makes an environment as `scripts/run` does, and notes that it was called. */
const MAKES = `
home=$(dirname "$(dirname "$1")"); mkdir -p "$home/.venv/bin"; echo "$0" >> "$home/called"
ln -sf "$0" "$home/.venv/bin/python"; echo "<$PYTHONPATH>" > "$home/told"
printf '#!/bin/sh\necho "<$PYTHONPATH>"\n' > "$home/.venv/bin/${LSP}"; chmod +x "$home/.venv/bin/${LSP}"
echo "{\\"place\\": \\"$home $0\\", \\"engine\\": \\"cpu\\"}" > "$home/.venv/setup.json"`;
const FAILS = `echo "$0" >> "$(dirname "$(dirname "$1")")/called"; echo "copydraft: no network" >&2; exit 1`;

/** An extension of that version, as packaged, with a storage of its own. */
async function packaged(version: string): Promise<vscode.ExtensionContext> {
  const home = await realpath(await mkdtemp(join(tmpdir(), "copydraft-test-")));
  const context = {
    extensionPath: join(home, "extension"),
    globalStorageUri: { fsPath: join(home, "storage") },
    subscriptions: [],
  } as unknown as vscode.ExtensionContext;
  await mkdir(join(carried(context), "scripts"), { recursive: true });
  await mkdir(place(context), { recursive: true });
  await update(context, version);
  return context;
}

async function update(context: vscode.ExtensionContext, version: string): Promise<void> {
  await rm(carried(context), { recursive: true });
  await mkdir(join(carried(context), "scripts"), { recursive: true });
  const wheel = `copydraft-${version}.whl`;
  await writeFile(join(carried(context), wheel), version);
  await writeFile(join(carried(context), "scripts", "run"), version);
  for (const kind of ["", "-build", "-engine"])
    await writeFile(join(carried(context), `requirements${kind}.txt`), version);
  await writeFile(join(carried(context), "payload.txt"), `${wheel}\n00\n`);
}

const carried = ({ extensionPath }: vscode.ExtensionContext): string =>
  join(extensionPath, "dist", "setup");
const place = ({ globalStorageUri }: vscode.ExtensionContext): string =>
  join(globalStorageUri.fsPath, "server");
const program = (context: vscode.ExtensionContext): string =>
  join(place(context), ".venv", "bin", LSP);
const called = async (context: vscode.ExtensionContext): Promise<string[]> =>
  (await readFile(join(place(context), "called"), "utf8")).trim().split("\n");

test("a set-up copies what an environment is made from, and that is in use then", async () => {
  const context = await packaged("1");
  await setUp(context, LOG, await script("python", MAKES));
  assert.equal(await readFile(join(place(context), "scripts", "run"), "utf8"), "1");
  assert.equal((await ownProgram(context, LOG, LSP))?.command, program(context));
});

test("a set-up that is tried again takes the Python that was chosen", async () => {
  const context = await packaged("1");
  const python = await script("python", FAILS);
  await assert.rejects(setUp(context, LOG, python), { message: "no network" });
  await assert.rejects(setUp(context, LOG), { message: "no network" });
  assert.deepEqual(await called(context), [python, python]);
});

test("an update renews the environment by the Python that was chosen", async () => {
  const context = await packaged("1");
  const python = await script("python", MAKES);
  await setUp(context, LOG, python);
  await update(context, "2");
  await ownProgram(context, LOG, LSP);
  assert.deepEqual(await called(context), [python, python]);
  const wheels = (await readdir(place(context))).filter((name) => name.endsWith(".whl"));
  assert.deepEqual(wheels, ["copydraft-2.whl"]);
});

test("an update that fails leaves the environment in use, and is told of once", async () => {
  const context = await packaged("1");
  const python = await script("python", MAKES);
  await setUp(context, LOG, python);
  await update(context, "2b");
  await writeFile(python, `#!/bin/sh\n${FAILS}\n`);
  const said = await messages(async (told) => {
    for (let start = 0; start < 2; start++)
      assert.equal((await ownProgram(context, LOG, LSP))?.command, program(context));
    await until("a message", () => told.length > 0);
  });
  assert.deepEqual(said, [
    "Copydraft: it could not be updated, and goes on as it was set up before: no network",
  ]);
  assert.deepEqual(await called(context), [python, python]);
});

test("a set-up that did not come to its end is not gone on with unasked", async () => {
  const context = await packaged("1");
  const half = await script("python", `${MAKES}\necho "copydraft: no compiler" >&2; exit 1`);
  await assert.rejects(setUp(context, LOG, half), { message: "no compiler" });
  assert.equal(await ownProgram(context, LOG, LSP), undefined);
  assert.deepEqual(await called(context), [half]);
});

test("an environment whose Python is gone or is another version's can be set up again", async () => {
  const context = await packaged("1");
  const python = await script("python", MAKES);
  await setUp(context, LOG, python);
  const broken = {
    message:
      "its environment is broken: the Python that it was made with is gone, or its last set-up " +
      "was interrupted.",
    buttons: [
      ["Set Up", "copydraft.setUp"],
      ["Choose Python…", "copydraft.choosePython"],
      ["Show Logs", "copydraft.showLogs"],
    ],
  };
  await rm(python);
  await assert.rejects(ownProgram(context, LOG, LSP), broken);
  await symlink("/bin/sh", python);
  await assert.rejects(ownProgram(context, LOG, LSP), broken);
});

test("a file that cannot be copied leaves the old ones whole, which another window may set up from", async () => {
  const context = await packaged("1");
  await setUp(context, LOG, await script("python", MAKES));
  await update(context, "2");
  await mkdir(join(place(context), "copydraft-2.whl"));
  await assert.rejects(setUp(context, LOG));
  assert.equal(await readFile(join(place(context), "copydraft-1.whl"), "utf8"), "1");
});

test("the packages of the user's own Pythons are not those of the extension's environment", async () => {
  const context = await packaged("1");
  const before = process.env.PYTHONPATH;
  process.env.PYTHONPATH = "/opt/ros/lib";
  try {
    await setUp(context, LOG, await script("python", MAKES));
    const own = await ownProgram(context, LOG, LSP);
    assert(own);
    assert.equal((await run(own, [])).stdout, "<>\n");
    assert.equal(await readFile(join(place(context), "told"), "utf8"), "<>\n");
  } finally {
    if (before === undefined) delete process.env.PYTHONPATH;
    else process.env.PYTHONPATH = before;
  }
});

test("where copydraft cannot run, nothing is set up, and it is told where it can", async () => {
  const context = await packaged("1");
  const real = Object.getOwnPropertyDescriptor(process, "platform");
  assert(real);
  Object.defineProperty(process, "platform", { ...real, value: "win32" });
  try {
    await assert.rejects(setUp(context, LOG), {
      message:
        "it runs on Linux. Open the folder in WSL, or on a Linux machine by Remote-SSH, and set it up there.",
      buttons: [],
    });
  } finally {
    Object.defineProperty(process, "platform", real);
  }
  assert.deepEqual(await readdir(place(context)), []);
});

/** Do something while a set-up of that extension is under way. */
async function amidSetUp(act: (context: vscode.ExtensionContext) => Promise<void>): Promise<void> {
  const context = await packaged("1");
  const gate = join(place(context), "gate");
  const waits = `touch "${gate}-reached"; while [ ! -e "${gate}" ]; do sleep 0.02; done\n`;
  const settingUp = setUp(context, LOG, await script("python", waits + MAKES));
  try {
    await until("the gate is reached", () => existsSync(`${gate}-reached`));
    await act(context);
  } finally {
    await writeFile(gate, "");
    await settingUp;
  }
}

const BEING_SET_UP = {
  message: "it is still being set up.",
  buttons: [["Show Progress", "notifications.showList"]],
};

test("who asks for something while copydraft is set up is told so, and shown how far it is", async () => {
  const settings = vscode.workspace.getConfiguration("copydraft");
  const set = (value: unknown): Thenable<void> =>
    settings.update("server.command", value, vscode.ConfigurationTarget.Workspace);
  const before = settings.get("server.command");
  const path = process.env.PATH;
  await set([]);
  try {
    await amidSetUp(async (context) => {
      process.env.PATH = "";
      await assert.rejects(serverCommand(context, LOG), BEING_SET_UP);
    });
    await assert.rejects(serverCommand(await packaged("1"), LOG), {
      message: "it is not set up yet.",
    });
  } finally {
    process.env.PATH = path;
    await set(before);
  }
});

test("an environment that is being set up again is not broken", async () => {
  await amidSetUp(async (context) => {
    await mkdir(join(place(context), ".venv", "bin"), { recursive: true });
    await writeFile(program(context), "");
    await writeFile(join(place(context), "payload.txt"), "copydraft-1.whl\n00\n");
    await assert.rejects(ownProgram(context, LOG, LSP), BEING_SET_UP);
  });
});

test("the status bar tells that copydraft is being set up", async () => {
  const never = new vscode.EventEmitter<never>().event;
  const server = { running: false, lacksSetUp: true, onRunning: never, onBusy: never };
  const bar = new StatusBar(server as unknown as Server);
  try {
    await amidSetUp(() => {
      assert.equal(bar.text, "Copydraft · setting up");
      assert.equal(bar.state(), "being set up");
      return Promise.resolve();
    });
    assert.equal(bar.text, "Copydraft · set up");
  } finally {
    bar.dispose();
  }
});
