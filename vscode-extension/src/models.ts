/** Choosing a model, and downloading it. */
import * as vscode from "vscode";

import { CHOOSE_MODEL, DOCTOR, HelpfulError, SHOW_LOGS } from "./faults";
import { faultOf, type Program, run } from "./programs";
import { ofMachine, setSetting } from "./settings";

/** A row of `copydraft model list --json`; sizes in bytes. */
export interface Model {
  name: string;
  description: string;
  parameters: string;
  license: string;
  size: number;
  memory: number;
  fits: boolean;
  active: boolean;
  path: string | null;
  partial_bytes: number;
}

/** A line of `copydraft model pull --json-progress`. */
interface Progress {
  stage: "waiting" | "checking" | "downloading";
  source: string;
  done: number;
  total: number;
}

export interface ModelItem extends vscode.QuickPickItem {
  model: Model;
}

/**
 * Let the user choose a model; download it if it is not here, and use it from now on. `program` is
 * the command line.
 *
 * Throws an Error whose message is for the user, or a vscode.CancellationError.
 */
export async function chooseModel(program: Program, log: vscode.LogOutputChannel): Promise<void> {
  const items = listModels(program).then(itemsOf);
  const chosen = await vscode.window.showQuickPick(items, {
    title: "Copydraft: Choose Model",
    placeHolder: "Which model is to edit and explain?",
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (!chosen) return;
  const { model } = chosen;
  if (!model.fits && !(await confirmed(model))) return;
  if (model.path === null) await pull(program, model, log);
  await setSetting("model", model.name);
  await vscode.commands.executeCommand("setContext", "copydraft.modelReady", true);
  void vscode.window.showInformationMessage(`Copydraft uses ${model.name} from now on.`);
}

/** Let the user choose a model that is not here, and download it. Throws as `chooseModel`. */
export async function downloadModel(program: Program, log: vscode.LogOutputChannel): Promise<void> {
  const lacking = listModels(program).then((models) =>
    itemsOf(models.filter(({ path }) => path === null)),
  );
  const chosen = await vscode.window.showQuickPick(lacking, {
    title: "Copydraft: Download Model",
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (!chosen) return;
  await pull(program, chosen.model, log);
  void vscode.window.showInformationMessage(`Copydraft has ${chosen.model.name} now.`);
}

/** The models of the catalog, as the command line of the installation knows them. */
export async function listModels(program: Program): Promise<Model[]> {
  const ended = await run(program, ["model", "list", "--json"]);
  if (ended.status !== 0) throw new Error(faultOf(ended));
  return (JSON.parse(ended.stdout) as { models: Model[] }).models;
}

/**
 * What is here first, then what fits, then the rest; each group in the catalog's order, but that the
 * one to be used leads it: it is what Enter takes.
 */
export function itemsOf(models: Model[]): ModelItem[] {
  const used = ofMachine("model");
  const isUsed = (model: Model): boolean => (used ? model.name === used : model.active);
  const rank = (model: Model): number => (model.path !== null ? 0 : model.fits ? 1 : 2);
  const order = (model: Model): number => 2 * rank(model) + (isUsed(model) ? 0 : 1);
  const sorted = [...models].sort((one, other) => order(one) - order(other));
  return sorted.map((model) => ({
    model,
    label: `$(${iconOf(model)}) ${model.name}`,
    description: [isUsed(model) ? useOf(model) : "", stateOf(model)].filter(Boolean).join(" · "),
    detail: `${model.description} · ${model.parameters} parameters · ${model.license}`,
  }));
}

function useOf({ path }: Model): string {
  return path === null ? "the one to be used" : "in use";
}

function iconOf(model: Model): string {
  if (model.path !== null) return "check";
  return model.fits ? "cloud-download" : "warning";
}

function stateOf(model: Model): string {
  const needs = `needs ${amount(model.memory)} of memory`;
  const size = `${amount(model.size)} file`;
  const here =
    model.path !== null
      ? "downloaded"
      : model.partial_bytes > 0
        ? `${amount(model.partial_bytes)} of it downloaded`
        : "not downloaded";
  return [size, model.fits ? needs : `${needs}, more than this machine has`, here].join(" · ");
}

async function confirmed(model: Model): Promise<boolean> {
  const use = "Use It Anyway";
  const detail = `It needs about ${amount(model.memory)}; loading it may fail or be very slow.`;
  const message = `${model.name} does not fit into this machine's memory.`;
  return (await vscode.window.showWarningMessage(message, { modal: true, detail }, use)) === use;
}

async function pull(program: Program, model: Model, log: vscode.LogOutputChannel): Promise<void> {
  const location = vscode.ProgressLocation.Notification;
  const title = `Downloading ${model.name}`;
  await vscode.window.withProgress(
    { location, title, cancellable: true },
    async (progress, cancel) => {
      let shown = 0;
      const ended = await run(program, ["model", "pull", model.name, "--json", "--json-progress"], {
        cancel,
        onLine: (line) => {
          const now = progressOf(line);
          if (!now) {
            log.info(line);
            return;
          }
          const share = (100 * now.done) / Math.max(1, now.total);
          progress.report({ message: messageOf(now), increment: Math.max(0, share - shown) });
          shown = Math.max(shown, share);
        },
      });
      // What has come stays: the next pull goes on from there.
      if (cancel.isCancellationRequested) throw new vscode.CancellationError();
      if (ended.status !== 0)
        throw new HelpfulError(faultOf(ended), [CHOOSE_MODEL, SHOW_LOGS, DOCTOR]);
    },
  );
}

function progressOf(line: string): Progress | undefined {
  try {
    const value = JSON.parse(line) as Partial<Progress> | null;
    return typeof value?.done === "number" ? (value as Progress) : undefined;
  } catch {
    return undefined;
  }
}

function messageOf({ stage, source, done, total }: Progress): string {
  if (stage === "waiting") return `waiting for ${source}`;
  if (stage === "checking") return "checking what is here";
  return `${amount(done)} of ${amount(total)}`;
}

function amount(bytes: number): string {
  return bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
