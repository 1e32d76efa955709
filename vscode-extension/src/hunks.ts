/**
 * The parts of an edit that are accepted or rejected one by one, and how they follow a document
 * that is being typed in. Knows nothing of VS Code.
 */
import type { Position, TextEdit } from "./protocol";

/** Edits that belong together: what they put in place of the document's lines [start, end). */
export interface Hunk {
  id: number;
  start: number;
  end: number;
  /** The new lines, without line ends. */
  lines: string[];
  /** The edits themselves, first to last; empty while the model still writes. */
  edits: TextEdit[];
}

/** A change of a document: `text` in place of `range`. */
export interface Change {
  range: { start: Position; end: Position };
  text: string;
}

/** `edits` in groups that touch the same lines or neighbours; their new lines are not known yet. */
export function grouped(edits: readonly TextEdit[]): Hunk[] {
  const sorted = [...edits].sort((a, b) => before(a.range.start, b.range.start));
  const hunks: Hunk[] = [];
  for (const edit of sorted) {
    const [start, end] = touched(edit);
    const last = hunks.at(-1);
    if (last && start <= last.end) {
      last.edits.push(edit);
      last.end = Math.max(last.end, end);
    } else {
      hunks.push({ id: hunks.length, start, end, lines: [], edits: [edit] });
    }
  }
  return hunks;
}

/** The hunk with what it makes of the document's `lines`, which have no line ends. */
export function written(hunk: Hunk, lines: readonly string[]): Hunk {
  return { ...hunk, lines: rewritten(hunk, lines) };
}

/**
 * Where the hunk is after `change`; null where the change is in its lines.
 *
 * Its edits move along.
 */
export function moved(hunk: Hunk, change: Change): Hunk | null {
  if (isBelow(hunk.end, change)) return hunk;
  return isAbove(hunk.start, change) ? shifted(hunk, growth(change)) : null;
}

/**
 * Where the lines [start, end) are after a change before, behind or within them; null where it is
 * of both, or nothing of them is left.
 */
export function followed(
  { start, end }: { start: number; end: number },
  change: Change,
): { start: number; end: number } | null {
  const by = growth(change);
  if (isBelow(end, change)) return { start, end };
  if (isAbove(start, change)) return { start: start + by, end: end + by };
  const within = change.range.start.line >= start && isAbove(end, change);
  return within && start < end + by ? { start, end: end + by } : null;
}

/** A text in which removed and added lines stand one after the other, and where they are. */
export interface Merged {
  lines: string[];
  /** For each hunk: lines [at, added) are removed, lines [added, end) are new. */
  marks: { id: number; at: number; added: number; end: number }[];
}

export function merged(lines: readonly string[], hunks: readonly Hunk[]): Merged {
  const result: Merged = { lines: [], marks: [] };
  let done = 0;
  for (const hunk of hunks) {
    result.lines.push(...lines.slice(done, hunk.start));
    const at = result.lines.length;
    result.lines.push(...lines.slice(hunk.start, hunk.end));
    const added = result.lines.length;
    result.lines.push(...hunk.lines);
    result.marks.push({ id: hunk.id, at, added, end: result.lines.length });
    done = hunk.end;
  }
  result.lines.push(...lines.slice(done));
  return result;
}

/** Where the hunks' new lines [at, end) are in the text with all of them made. */
export function places(hunks: readonly Hunk[]): { id: number; at: number; end: number }[] {
  let shift = 0;
  return hunks.map(({ id, start, end, lines }) => {
    const at = start + shift;
    shift += lines.length - (end - start);
    return { id, at, end: at + lines.length };
  });
}

/** The text with all hunks made. */
export function applied(lines: readonly string[], hunks: readonly Hunk[]): string[] {
  const result: string[] = [];
  let done = 0;
  for (const hunk of hunks) {
    result.push(...lines.slice(done, hunk.start), ...hunk.lines);
    done = hunk.end;
  }
  result.push(...lines.slice(done));
  return result;
}

/** By how many lines a change makes a text longer. */
function growth({ range, text }: Change): number {
  return newLines(text).length - 1 - (range.end.line - range.start.line);
}

/** Whether a change leaves all that stands above the line as it is. */
function isBelow(line: number, { range }: Change): boolean {
  return before(range.start, { line, character: 0 }) >= 0;
}

/** Whether a change leaves the line, and what stands below, as it is: whole lines, elsewhere. */
function isAbove(line: number, { range: { start, end }, text }: Change): boolean {
  if (end.line !== line) return end.line < line;
  const ends = text === "" ? start.character === 0 : newLines(text).at(-1) === "";
  return end.character === 0 && ends;
}

function newLines(text: string): string[] {
  return text.split(/\r\n|\r|\n/);
}

function before(a: Position, b: Position): number {
  return a.line - b.line || a.character - b.character;
}

/** The lines [start, end) that an edit of whole lines, or of parts of them, replaces. */
function touched({ range, newText }: TextEdit): [number, number] {
  const { start, end } = range;
  const whole =
    start.character === 0 && end.character === 0 && (newText === "" || newText.endsWith("\n"));
  return [start.line, whole ? end.line : end.line + 1];
}

function rewritten(hunk: Hunk, lines: readonly string[]): string[] {
  let text = "";
  let at: Position = { line: hunk.start, character: 0 };
  for (const edit of hunk.edits) {
    text += between(lines, at, edit.range.start) + edit.newText;
    at = edit.range.end;
  }
  text += between(lines, at, { line: hunk.end, character: 0 });
  const result = text.split(/\r\n|\r|\n/);
  if (result.at(-1) === "") result.pop();
  return result;
}

/** The text from `from` up to `to`; behind the last line there is nothing. */
function between(lines: readonly string[], from: Position, to: Position): string {
  if (from.line === to.line) return (lines[from.line] ?? "").slice(from.character, to.character);
  const first = (lines[from.line] ?? "").slice(from.character);
  const rest = lines.slice(from.line + 1, to.line);
  const last = (lines[to.line] ?? "").slice(0, to.character);
  return [first, ...rest, last].join("\n");
}

function shifted(hunk: Hunk, by: number): Hunk {
  if (by === 0) return hunk;
  const move = ({ line, character }: Position): Position => ({ line: line + by, character });
  return {
    ...hunk,
    start: hunk.start + by,
    end: hunk.end + by,
    edits: hunk.edits.map(({ range, newText }) => ({
      range: { start: move(range.start), end: move(range.end) },
      newText,
    })),
  };
}
