/** A model's Markdown as HTML that can do nothing: no HTML of its own, no links, no images. */
import MarkdownIt from "markdown-it";

/** Finds the line of the document that a piece of code is in; undefined: in none. */
export type LineOf = (code: string) => number | undefined;

/** Finds the line of the document that an answer means by its number; undefined: none. */
export type NumberedLine = (number: number) => number | undefined;

const LINES = /\blines?\s+(\d{1,6})(?:\s*(?:[-–]|to|and)\s*\d{1,6})?\b/gi;

export function render(markdown: string, lineOf: LineOf, numbered: NumberedLine): string {
  const parser = new MarkdownIt({ html: false, linkify: false, typographer: false });
  parser.disable(["image", "link", "autolink", "reference"]);
  parser.core.ruler.push("below-the-question", ({ tokens }) => {
    for (const token of tokens) token.tag = token.tag.replace(/^h([1-4])$/, deeper);
  });
  const escape = (text: string): string => parser.utils.escapeHtml(text);
  parser.renderer.rules.code_inline = (tokens, index) => {
    const code = tokens[index]?.content ?? "";
    const line = lineOf(code);
    const shown = `<code>${escape(code)}</code>`;
    return linked(shown, line);
  };
  parser.renderer.rules.text = (tokens, index) =>
    // Digits, dashes and the words about them are not changed by being escaped.
    escape(tokens[index]?.content ?? "").replace(LINES, (shown, number: string) =>
      linked(shown, numbered(Number(number))),
    );
  parser.renderer.rules.fence = (tokens, index) => {
    const token = tokens[index];
    const language = escape((token?.info ?? "").trim().split(/\s/)[0] ?? "");
    return (
      `<div class="block"><button class="copy" title="Copy">Copy</button>` +
      `<pre aria-label="${language || "code"}" tabindex="0"><code>${escape(token?.content ?? "")}</code></pre></div>`
    );
  };
  parser.renderer.rules.code_block = parser.renderer.rules.fence;
  return parser.render(markdown);
}

/**
 * Where code that an answer names is: the first line that has it as whole words.
 *
 * @param lines of the document; [start, end) were asked about and are looked at first
 */
export function lineFinder(lines: readonly string[], start: number, end: number): LineOf {
  const order = [...range(start, end), ...range(0, start), ...range(end, lines.length)];
  return (code) => {
    const wanted = code.trim().replace(/\(\)$/, "");
    if (wanted.length < 2) return undefined;
    return order.find((line) => hasWord(lines[line] ?? "", wanted));
  };
}

/**
 * The line that "line 3" means in an answer about the lines [start, end).
 *
 * The model sees no numbers and counts from the first line that it was asked about; a number
 * behind the last one may only be one of the document's.
 */
export function lineNumbers(start: number, end: number): NumberedLine {
  return (number) => {
    if (number >= 1 && number <= end - start) return start + number - 1;
    return number > start && number <= end ? number - 1 : undefined;
  };
}

/** The page's own headings are of the levels 1 and 2. */
function deeper(_: string, level: string): string {
  return `h${Number(level) + 2}`;
}

function linked(shown: string, line: number | undefined): string {
  return line === undefined
    ? shown
    : `<button class="place" data-line="${line}" title="Go to line ${line + 1}">${shown}</button>`;
}

function hasWord(line: string, wanted: string): boolean {
  for (let at = line.indexOf(wanted); at >= 0; at = line.indexOf(wanted, at + 1)) {
    const around = [line[at - 1] ?? " ", line[at + wanted.length] ?? " "];
    if (around.every((one) => !/\w/.test(one))) return true;
  }
  return false;
}

function range(start: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - start) }, (_, index) => start + index);
}
