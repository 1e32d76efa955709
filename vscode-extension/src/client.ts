/** The language server: started, restarted, asked. */
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import {
  CloseAction,
  type ConfigurationParams,
  ErrorAction,
  type LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  State,
  type StaticFeature,
  WorkDoneProgress,
} from "vscode-languageclient/node";

import { namedPrograms, NotSetUp, serverCommand } from "./environment";
import {
  asFault,
  CHOOSE_PYTHON,
  DOCTOR,
  Fault,
  HelpfulError,
  RESTART,
  SET_UP,
  SHOW_LOGS,
  tell,
} from "./faults";
import { endOf, kill, launched, QuietClient } from "./launch";
import type { Delta } from "./protocol";
import { serverSettings } from "./settings";
import { BeingSetUp } from "./setup";
import { DOCUMENTS } from "./target";

const MOST_RESTARTS = 3;
const CALM_MS = 180_000;
const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 3_000;

/** Runs a command that the server has and VS Code calls, as code actions do. */
export type Interceptor = (argument: unknown) => Thenable<unknown>;

/** Tells of a request that takes its time: "reading 300 of 1200 tokens". */
export type Report = (message: string) => void;

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private child: ChildProcess | undefined;
  private deaths: number[] = [];
  private starting: Promise<void> | undefined;
  private readonly deltas = new vscode.EventEmitter<Delta>();
  private readonly states = new vscode.EventEmitter<boolean>();
  private readonly loads = new vscode.EventEmitter<number>();
  private readonly settings: vscode.Disposable;
  private working = 0;
  /** Documents whose new language the server is told when nothing is written any more. */
  private readonly relabelled = new Set<vscode.TextDocument>();
  private reason = "";
  private unprepared = false;
  private named = "";

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
        this.client
          ?.sendNotification("workspace/didChangeConfiguration", {
            settings: { copydraft: serverSettings() },
          })
          .catch(this.ignore);
    });
  }

  get running(): boolean {
    return this.client?.state === State.Running;
  }

  /** Why it does not run; "" where nothing went wrong. */
  get problem(): string {
    return this.running ? "" : this.reason;
  }

  /** Whether it does not run because nobody has set copydraft up yet. */
  get lacksSetUp(): boolean {
    return !this.running && this.unprepared;
  }

  /** Whether it was last started, or was to be, by settings that name other programs now. */
  get outdated(): boolean {
    return this.named !== namedPrograms();
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
    this.starting ??= this.startOnce()
      .catch((error: unknown) => {
        if (!(error instanceof BeingSetUp)) {
          this.unprepared = error instanceof NotSetUp;
          this.fails(asFault(error).message);
        }
        throw error;
      })
      .finally(() => {
        this.starting = undefined;
      });
    return this.starting;
  }

  /** End it. A start that is under way is waited for, for so long as that may take. */
  async stop(): Promise<void> {
    await this.starting?.catch(this.ignore);
    await this.drop();
  }

  /** End it without delay, as the window that it belongs to closes. */
  async end(): Promise<void> {
    if (this.client?.state === State.Running) await this.drop();
    else kill(this.child);
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
      const token = randomUUID();
      progress = this.client?.onProgress(WorkDoneProgress.type, token, (value) => {
        if (value.kind === "report" && value.message) report(value.message);
      });
      return await this.ask<T>(command, argument, cancel, token);
    } finally {
      progress?.dispose();
      this.work(-1);
    }
  }

  /** The result of a command of the server's that is quick. Throws as `execute`. */
  async ask<T>(
    command: string,
    argument: object = {},
    cancel?: vscode.CancellationToken,
    workDoneToken?: string,
  ): Promise<T> {
    const params = { command, arguments: [argument], ...(workDoneToken && { workDoneToken }) };
    const answer = await this.request<T>("workspace/executeCommand", params, cancel);
    if (answer === null) throw new Fault("the language server does not run");
    return answer;
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
    void this.end();
    this.deltas.dispose();
    this.states.dispose();
    this.loads.dispose();
    this.settings.dispose();
  }

  private work(step: number): void {
    this.working += step;
    this.loads.fire(this.working);
    if (this.working > 0 || !this.client) return;
    for (const { uri } of this.relabelled)
      this.resync(this.client, uri.toString()).catch(this.ignore);
    this.relabelled.clear();
  }

  private async startOnce(): Promise<void> {
    if (this.running) return;
    this.reason = "";
    await this.drop();
    this.named = namedPrograms();
    const program = await serverCommand(this.context, this.log);
    this.log.info(`starting ${[program.command, ...program.args].join(" ")}`);
    const launch = async (): Promise<ChildProcess> => (this.child = await launched(program));
    const client = new QuietClient("copydraft", "Copydraft", launch, this.options());
    client.registerFeature(ASKS);
    this.client = client;
    client.onNotification("copydraft/delta", (delta: Delta) => {
      this.deltas.fire(delta);
    });
    client.onNotification("copydraft/resync", ({ uri }: { uri: string }) => {
      this.resync(client, uri).catch(this.ignore);
    });
    client.onDidChangeState(({ oldState, newState }) => {
      // One that is stopped on purpose is no longer the client by then.
      if (this.client !== client) return;
      this.states.fire(newState === State.Running);
      if (oldState === State.Running) void this.died();
    });
    try {
      await withinLimit(client.start());
      if (client.state !== State.Running) throw new Fault("it ended at once");
    } catch (error) {
      const why =
        error instanceof Late ? error.message : endOf(this.child) || asFault(error).message;
      const begun = this.child !== undefined;
      kill(this.child);
      this.client = undefined;
      // What has no process is not there, or cannot be run: to try it again is of no use.
      const buttons = begun ? [RESTART, SHOW_LOGS, DOCTOR] : [SET_UP, CHOOSE_PYTHON, SHOW_LOGS];
      throw new HelpfulError(`the language server does not start: ${why}`, buttons);
    }
  }

  /** Stop the client that there is and forget it. */
  private async drop(): Promise<void> {
    const { client, child } = this;
    this.client = undefined;
    this.child = undefined;
    if (!client) return;
    this.states.fire(false);
    await client.stop(STOP_LIMIT_MS);
    await client.dispose().catch(this.ignore);
    setTimeout(() => {
      kill(child);
    }, STOP_LIMIT_MS).unref();
  }

  /** It ended by itself: start it again, unless that happens over and over. */
  private async died(): Promise<void> {
    const now = Date.now();
    this.deaths = [...this.deaths.filter((then) => now - then < CALM_MS), now];
    if (this.deaths.length > MOST_RESTARTS) {
      const times = `the language server ended ${this.deaths.length} times within minutes`;
      this.fails(times);
      await tell(new HelpfulError(`${times}.`, [SHOW_LOGS, RESTART]));
      return;
    }
    // Not within the event: the client has not yet done with what was.
    await Promise.resolve();
    await this.start().catch(tell);
  }

  private fails(problem: string): void {
    this.reason = problem;
    this.log.error(problem);
    this.states.fire(false);
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: DOCUMENTS,
      outputChannel: this.log,
      // Faults come as answers; what they mean for the user is told where they were caused.
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: { copydraft: serverSettings() },
      middleware: {
        didOpen: async (document, next) => {
          if (!this.relabelled.has(document)) await next(document);
        },
        // Another language closes and opens a document that is there all the time: what is being
        // written in it would be lost.
        didClose: async (document, next) => {
          const there = vscode.workspace.textDocuments.includes(document);
          if (there && this.working > 0) {
            this.relabelled.add(document);
            return;
          }
          this.relabelled.delete(document);
          await next(document);
        },
        executeCommand: (command, args: unknown[], next): vscode.ProviderResult<unknown> => {
          const instead = this.interceptors.get(command);
          return instead ? instead(args[0]) : next(command, args);
        },
        workspace: {
          configuration: ({ items }: ConfigurationParams): Record<string, unknown>[] =>
            Array.from(items, () => serverSettings()),
        },
      },
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: async () => {
          // The client forgets its start when this answers: what that fails with must be out first.
          await new Promise((resolve) => setTimeout(resolve, 0));
          // Started again by us, as it was the first time.
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    };
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

class Late extends Error {}

/** Throws a Late where that takes too long. */
async function withinLimit(starting: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Late(`it does not answer within ${START_LIMIT_MS / 1000} s`));
    }, START_LIMIT_MS);
  });
  try {
    await Promise.race([starting, late]);
  } finally {
    clearTimeout(timer);
  }
}
