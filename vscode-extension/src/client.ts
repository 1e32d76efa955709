/** The language server: started, restarted, asked. */
import * as vscode from "vscode";
import {
  CloseAction,
  type ConfigurationParams,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  type ServerOptions,
  State,
  type StaticFeature,
  WorkDoneProgress,
} from "vscode-languageclient/node";

import { serverCommand } from "./environment";
import { asFault, Fault } from "./faults";
import type { Delta } from "./protocol";
import { serverSettings } from "./settings";

const DOCUMENTS = [{ scheme: "file" }, { scheme: "untitled" }, { scheme: "vscode-notebook-cell" }];
const MOST_RESTARTS = 3;
const CALM_MS = 180_000;

/** Runs a command that the server has and VS Code calls, as code actions do. */
export type Interceptor = (argument: unknown) => Thenable<unknown>;

/** Tells of a request that takes its time: "reading 300 of 1200 tokens". */
export type Report = (message: string) => void;

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private deaths: number[] = [];
  private starting: Promise<void> | undefined;
  private tokens = 0;
  private readonly deltas = new vscode.EventEmitter<Delta>();
  private readonly states = new vscode.EventEmitter<boolean>();
  private readonly loads = new vscode.EventEmitter<number>();
  private readonly settings: vscode.Disposable;
  private working = 0;

  readonly onDelta = this.deltas.event;
  /** True when it runs, false when it does not any more. */
  readonly onRunning = this.states.event;
  /** How many edits and explanations are being written, whenever that changes. */
  readonly onBusy = this.loads.event;
  /** What calls of server commands by VS Code do instead, by command. */
  readonly interceptors = new Map<string, Interceptor>();

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.settings = vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("copydraft") && this.running)
        void this.client?.sendNotification("workspace/didChangeConfiguration", {
          settings: { copydraft: serverSettings() },
        });
    });
  }

  get running(): boolean {
    return this.client?.state === State.Running;
  }

  /** Whether the server has a command of that name. */
  has(command: string): boolean {
    const provider = this.client?.initializeResult?.capabilities.executeCommandProvider;
    return this.running && (provider?.commands ?? []).includes(command);
  }

  get completes(): boolean {
    const capabilities = this.client?.initializeResult?.capabilities as
      { inlineCompletionProvider?: unknown } | undefined;
    return this.running && Boolean(capabilities?.inlineCompletionProvider);
  }

  /** Start it, unless it runs. Throws an Error whose message is for the user. */
  start(): Promise<void> {
    this.starting ??= this.startOnce().finally(() => {
      this.starting = undefined;
    });
    return this.starting;
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.states.fire(false);
    if (client && client.state !== State.Stopped) await client.stop().catch(this.ignore);
    await client?.dispose().catch(this.ignore);
  }

  async restart(): Promise<void> {
    this.deaths = [];
    await this.stop();
    await this.start();
  }

  /**
   * The result of a command of the server's that takes its time; the server is started if need be.
   *
   * Throws a Fault, or a vscode.CancellationError.
   */
  async execute<T>(
    command: string,
    argument: object,
    cancel: vscode.CancellationToken,
    report: Report,
  ): Promise<T> {
    this.work(1);
    let progress: vscode.Disposable | undefined;
    try {
      await this.start();
      this.tokens += 1;
      const token = `copydraft-vscode-${this.tokens}`;
      progress = this.client?.onProgress(WorkDoneProgress.type, token, (value) => {
        if (value.kind === "report" && value.message) report(value.message);
      });
      return await this.send<T>(command, argument, cancel, token);
    } finally {
      progress?.dispose();
      this.work(-1);
    }
  }

  /** The result of a command of the server's, without progress. Throws as `execute`. */
  ask<T>(command: string, argument: object = {}, cancel?: vscode.CancellationToken): Promise<T> {
    return this.send<T>(command, argument, cancel);
  }

  /** The answer to a request of LSP's. Throws as `execute`. */
  async request<T>(
    method: string,
    params: object,
    cancel?: vscode.CancellationToken,
  ): Promise<T | null> {
    if (!this.client || !this.running) return null;
    try {
      return await this.client.sendRequest<T>(method, params, ...(cancel ? [cancel] : []));
    } catch (error) {
      throw asFault(error);
    }
  }

  dispose(): void {
    void this.stop();
    this.deltas.dispose();
    this.states.dispose();
    this.loads.dispose();
    this.settings.dispose();
  }

  private async send<T>(
    command: string,
    argument: object,
    cancel?: vscode.CancellationToken,
    workDoneToken?: string,
  ): Promise<T> {
    const params = { command, arguments: [argument], ...(workDoneToken && { workDoneToken }) };
    const answer = await this.request<T>("workspace/executeCommand", params, cancel);
    if (answer === null) throw new Fault("the language server does not run");
    return answer;
  }

  private work(step: number): void {
    this.working += step;
    this.loads.fire(this.working);
  }

  private async startOnce(): Promise<void> {
    if (this.running) return;
    if (this.client) await this.stop();
    const program = await serverCommand(this.context, this.log);
    this.log.info(`starting ${[program.command, ...program.args].join(" ")}`);
    const options: ServerOptions = {
      command: program.command,
      args: program.args,
      options: { env: { ...process.env, ...program.env } },
    };
    const client = new LanguageClient("copydraft", "Copydraft", options, this.options());
    client.registerFeature(ASKS);
    this.client = client;
    client.onNotification("copydraft/delta", (delta: Delta) => {
      this.deltas.fire(delta);
    });
    client.onNotification("copydraft/resync", ({ uri }: { uri: string }) => {
      void this.resync(client, uri);
    });
    client.onDidChangeState(({ newState }) => {
      if (this.client === client) this.states.fire(newState === State.Running);
    });
    try {
      await client.start();
    } catch (error) {
      if (this.client === client) this.client = undefined;
      throw new Error(`The language server does not start: ${asFault(error).message}`);
    }
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: DOCUMENTS,
      outputChannel: this.log,
      // Faults come as answers; what they mean for the user is told where they were caused.
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: { copydraft: serverSettings() },
      middleware: {
        executeCommand: (command, args: unknown[], next): vscode.ProviderResult<unknown> => {
          const instead = this.interceptors.get(command);
          return instead ? instead(args[0]) : next(command, args);
        },
        workspace: {
          configuration: ({ items }: ConfigurationParams): Record<string, unknown>[] =>
            Array.from(items, () => serverSettings()),
        },
      },
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          const now = Date.now();
          this.deaths = [...this.deaths.filter((then) => now - then < CALM_MS), now];
          if (this.deaths.length <= MOST_RESTARTS)
            return { action: CloseAction.Restart, handled: true };
          void this.tellOfDeaths();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    };
  }

  private async tellOfDeaths(): Promise<void> {
    const chosen = await vscode.window.showErrorMessage(
      `Copydraft's language server ended ${MOST_RESTARTS + 1} times within minutes.`,
      "Show Logs",
      "Restart",
    );
    if (chosen === "Show Logs") this.log.show();
    if (chosen === "Restart") await vscode.commands.executeCommand("copydraft.restart");
  }

  /** The server lost track of a document: close it there and open it again. */
  private async resync(client: LanguageClient, uri: string): Promise<void> {
    const wanted = client.protocol2CodeConverter.asUri(uri).toString();
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === wanted);
    if (!document) return;
    const convert = client.code2ProtocolConverter;
    await client.sendNotification(
      "textDocument/didClose",
      convert.asCloseTextDocumentParams(document),
    );
    await client.sendNotification(
      "textDocument/didOpen",
      convert.asOpenTextDocumentParams(document),
    );
  }

  private readonly ignore = (error: unknown): void => {
    this.log.warn(String(error));
  };
}

/** Tells the server that edits without an instruction are welcome: this client asks for one. */
const ASKS: StaticFeature = {
  fillClientCapabilities: (capabilities) => {
    capabilities.experimental = {
      ...(capabilities.experimental as object | undefined),
      copydraft: { asks: true },
    };
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};
