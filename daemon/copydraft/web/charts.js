"use strict";
// What draws: elements, tables, and charts as SVG. Text of models and files only ever becomes text
// nodes. Both scripts stand in the page as one, this one first.

const MEANINGS = {
  region: "the code being edited",
  session: "the prompt and earlier answers",
  workspace: "the workspace",
  global: "libraries",
  prediction: "the caller's prediction",
  format: "the answer's form",
  "": "newly written",
};
const CHART = { width: 560, height: 220, left: 44, right: 8, top: 8, bottom: 22 };

// --- small helpers ---

const byId = (id) => document.getElementById(id);
const count = (value) => Math.round(value).toLocaleString("en");
const percent = (part, whole) => (whole > 0 ? `${Math.round((100 * part) / whole)} %` : "–");
const sum = (counts) => Object.values(counts).reduce((all, one) => all + one, 0);
const named = (corpus) => (corpus === "" ? "new" : corpus);
const styled = (corpus) => (corpus === "" ? "novel" : corpus in MEANINGS ? corpus : "other");

function speed(tokensPerSecond) {
  return tokensPerSecond > 0 ? tokensPerSecond.toFixed(1) : "–";
}

function amount(bytes) {
  for (const unit of ["bytes", "KB", "MB"]) {
    if (bytes < 1000) return `${Math.round(bytes)} ${unit}`;
    bytes /= 1000;
  }
  return `${bytes.toFixed(1)} GB`;
}

function say(id, text) {
  const element = byId(id);
  if (element.textContent !== text) element.textContent = text;
}

/** An element with attributes and children; strings become text. */
function make(tag, attributes = {}, ...children) {
  const element = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A table; columns whose heading begins with ">" are numbers, the first one names the rows. */
function table(caption, columns, rows) {
  const cell = (tag, attributes, at, text) => {
    const numeric = columns[at].startsWith(">");
    return make(tag, { ...attributes, ...(numeric && { class: "number" }) }, String(text));
  };
  const headings = columns.map((column, at) => cell("th", { scope: "col" }, at, column.replace(/^>/, "")));
  const body = rows.map(([name, ...rest]) =>
    make("tr", {}, cell("th", { scope: "row" }, 0, name), ...rest.map((text, at) => cell("td", {}, at + 1, text))),
  );
  return make(
    "table",
    {},
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...headings)),
    make("tbody", {}, ...body),
  );
}

const shown = new Map();

/** Call `draw` with the element of this id, unless it shows `data` already. */
function update(id, data, draw) {
  const key = JSON.stringify(data);
  if (shown.get(id) === key) return;
  shown.set(id, key);
  draw(byId(id));
}

// --- charts ---

/** Every day from the first to the last, with what is known of it. */
function everyDay(days) {
  if (days.length === 0) return [];
  const known = new Map(days.map((day) => [day.name, day]));
  const all = [];
  const last = Date.parse(days[days.length - 1].name);
  for (let at = Date.parse(days[0].name); at <= last; at += 86_400_000) {
    const name = new Date(at).toISOString().slice(0, 10);
    all.push({ name, usage: known.get(name) ?? null });
  }
  return all;
}

/** An SVG with a grid: `most` is the value at its top; `mark` writes values beside it. */
function frame(label, days, most, mark) {
  const { width, height, left, right, top, bottom } = CHART;
  const svg = make("svg:svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const y = (value) => height - bottom - ((height - top - bottom) * value) / most;
  for (const value of [0, most / 2, most]) {
    svg.append(make("svg:line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
    svg.append(make("svg:text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, mark(value)));
  }
  const step = (width - left - right) / days.length;
  const x = (at) => left + step * (at + 0.5);
  const marked = days.length > 1 ? [0, days.length - 1] : [0];
  for (const at of marked) {
    const anchor = days.length === 1 ? "middle" : at === 0 ? "start" : "end";
    const place = days.length === 1 ? x(0) : at === 0 ? left : width - right;
    svg.append(make("svg:text", { x: place, y: height - 6, "text-anchor": anchor }, days[at].name));
  }
  return { svg, x, y, step };
}

function roundUp(value) {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, value))));
  return Math.max(2, [1, 2, 4, 5, 6, 8, 10].find((factor) => factor * unit >= value) * unit);
}

function tokensChart(report) {
  const days = everyDay(report.by_day);
  const most = roundUp(Math.max(...report.by_day.map((day) => day.output_tokens)));
  const total = report.total;
  const label = `${count(total.output_tokens)} tokens, ${percent(total.copied_tokens, total.output_tokens)} of them copied`;
  const short = (value) => (value >= 1000 ? `${(value / 1000).toFixed(value % 1000 ? 1 : 0)}k` : count(value));
  const { svg, x, y, step } = frame(label, days, most, short);
  const wide = Math.max(0.5, Math.min(36, step * 0.8));
  days.forEach(({ name, usage }, at) => {
    if (!usage) return;
    const { copied_tokens: copied, output_tokens: all } = usage;
    const bar = (kind, from, to) =>
      make("svg:rect", { class: `bar ${kind}`, x: x(at) - wide / 2, y: y(to), width: wide, height: y(from) - y(to) });
    const about = `${name}: ${count(copied)} copied, ${count(all - copied)} newly written`;
    svg.append(make("svg:g", {}, make("svg:title", {}, about), bar("copied", 0, copied), bar("written", copied, all)));
  });
  return svg;
}

function shareChart(report) {
  const days = everyDay(report.by_day);
  const label = `${percent(sum(report.total.accepted), sum(report.total.drafted))} of the drafted tokens were accepted`;
  const { svg, x, y } = frame(label, days, 100, (value) => `${value} %`);
  for (const corpus of Object.keys(report.total.drafted).sort()) {
    const points = [];
    days.forEach(({ name, usage }, at) => {
      const drafted = usage?.drafted[corpus] ?? 0;
      if (drafted > 0) points.push({ name, at, share: (100 * (usage.accepted[corpus] ?? 0)) / drafted, drafted });
    });
    const line = points.map((point) => `${x(point.at)},${y(point.share)}`).join(" ");
    svg.append(make("svg:polyline", { class: `trend ${styled(corpus)}`, points: line }));
    for (const { name, at, share, drafted } of points) {
      const about = `${name}, ${corpus}: ${Math.round(share)} % of ${count(drafted)} drafted tokens`;
      const dot = make("svg:circle", { class: `dot ${styled(corpus)}`, cx: x(at), cy: y(share), r: 3 });
      dot.append(make("svg:title", {}, about));
      svg.append(dot);
    }
  }
  return svg;
}
