/**
 * What the language server says: see CONTRIBUTING.md, "The language server's commands".
 *
 * Lines count from 0 and `end` is exclusive; offsets into texts count code points.
 */

/** Put `lines`, without line ends, in place of the document's lines [start, end). */
export interface DeltaHunk {
  start: number;
  end: number;
  lines: string[];
}

/** Part [start, end) of a text and what it was copied from; corpus "" is newly written. */
export interface Span {
  start: number;
  end: number;
  corpus: string;
  path: string;
}

/** `copydraft/delta`: all that was written so far. */
export interface Delta {
  id: string;
  kind: "edit" | "explain";
  uri: string;
  version: number;
  start: number;
  end: number;
  text: string;
  tokens: number;
  spans: Span[];
  hunks: DeltaHunk[];
}

export interface Stats {
  model: string;
  device: string;
  output_tokens: number;
  copied_tokens: number;
  tokens_per_s: number;
}

export interface Position {
  line: number;
  character: number;
}

export interface TextEdit {
  range: { start: Position; end: Position };
  newText: string;
}

/** Result of `copydraft.edit`; `edit` is null where nothing is to be changed. */
export interface EditAnswer {
  uri: string;
  version: number;
  start: number;
  end: number;
  text: string;
  spans: Span[];
  stats: Stats;
  edit: {
    changes?: Record<string, TextEdit[]>;
    documentChanges?: { edits: TextEdit[] }[];
  } | null;
}

/** Result of `copydraft.explain`; `session` is missing in servers without follow-up questions. */
export interface ExplainAnswer {
  text: string;
  spans: Span[];
  stats: Stats;
  session?: string;
}

/** Result of `copydraft.status`, as far as it is shown here. */
export interface StatusAnswer {
  version: string;
  requests: number;
  daemon: {
    model: { name: string; device: string } | null;
    active: number;
    waiting: number;
    tokens_per_s: number;
    acceptance: number;
  } | null;
  problem: string | null;
}

/** The `data` of a fault. */
export interface FaultData {
  code: string;
  message: string;
  hint: string;
}

/** Argument of `copydraft.edit`, `copydraft.explain` and `copydraft.prepare`. */
export interface CommandTarget {
  textDocument: { uri: string; version?: number | null };
  range: { start: Position; end: Position };
}
