// Reads the daemon's status, statistics and last answer, and shows them. A browser asks the daemon
// itself; in VS Code the extension does.

const BUSY_MS = 500;
const IDLE_MS = 2000;
const STATISTICS_MS = 15000;

// --- the last answer ---

/** The parts of an answer: where each came from, and its text. Offsets count code points. */
function partsOf(answer) {
  const characters = Array.from(answer.text);
  const parts = [];
  let at = 0;
  for (const span of answer.spans) {
    if (span.start > at) parts.push({ corpus: "", path: "", from: at, to: span.start });
    parts.push({ corpus: span.corpus, path: span.path, from: span.start, to: span.end });
    at = span.end;
  }
  if (at < characters.length) parts.push({ corpus: "", path: "", from: at, to: characters.length });
  return parts.map((part) => ({ ...part, text: characters.slice(part.from, part.to).join("") }));
}

function originOf(part) {
  const length = part.to - part.from;
  const size = length === 1 ? "1 character" : `${count(length)} characters`;
  if (part.corpus === "") return `newly written by the model: ${size}`;
  const meaning = MEANINGS[part.corpus] ?? part.corpus;
  return `copied from ${meaning}${part.path ? `, ${part.path}` : ""}: ${size}`;
}

function showAnswer(answer) {
  update("answer", answer, (element) => {
    const parts = answer ? partsOf(answer) : [];
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
    const spans = parts.map((part) => {
      const kind = part.corpus === "" ? "part novel" : `part from ${styled(part.corpus)}`;
      return make("span", { class: kind, title: originOf(part) }, part.text);
    });
    element.replaceChildren(...(spans.length ? spans : ["Nothing was written yet."]));
    if (answer && answer.stats === null && atEnd) element.scrollTop = element.scrollHeight;
    say("origin", "");
    showLegend(parts);
    const rows = parts.map((part) => [named(part.corpus), part.path, count(part.to - part.from), part.text]);
    byId("last-table").replaceChildren(table("Its parts in order", ["corpus", "path", ">characters", "text"], rows));
  });
  say("last-about", answer ? about(answer) : "It appears here while it is being written.");
  const stats = answer?.stats;
  say("copied", stats ? percent(stats.copied_tokens, stats.output_tokens) : "–");
  say("copied-note", stats ? `${count(stats.copied_tokens)} of ${count(stats.output_tokens)} tokens` : "");
}

function about(answer) {
  const head = `${answer.kind}${answer.path ? ` of ${answer.path}` : ""}`;
  if (answer.stats === null) return `${head}: ${count(answer.tokens)} tokens so far`;
  const { output_tokens, passes, decode_ms } = answer.stats;
  return `${head}: ${count(output_tokens)} tokens in ${count(passes)} passes, ${(decode_ms / 1000).toFixed(1)} s`;
}

function showLegend(parts) {
  const sizes = new Map();
  for (const part of parts) sizes.set(part.corpus, (sizes.get(part.corpus) ?? 0) + part.to - part.from);
  const all = [...sizes.values()].reduce((total, one) => total + one, 0);
  const entries = [...sizes].sort((one, other) => other[1] - one[1]);
  byId("legend").replaceChildren(
    ...entries.map(([corpus, size]) => {
      const sample = make("span", { class: corpus === "" ? "novel" : `from ${styled(corpus)}` }, named(corpus));
      return make("li", {}, sample, ` ${percent(size, all)} of the text: ${MEANINGS[corpus] ?? "another source"}`);
    }),
  );
}

/** Tell where a part came from: the one under the pointer, or the one that arrow keys chose. */
function followParts() {
  const answer = byId("answer");
  let current = null;
  const choose = (part) => {
    current?.classList.remove("current");
    current = part;
    current?.classList.add("current");
    say("origin", part?.title ?? "");
  };
  answer.addEventListener("pointerover", (event) => {
    if (event.target.classList?.contains("part")) say("origin", event.target.title);
  });
  answer.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const parts = [...answer.querySelectorAll(".part")];
    if (step === undefined || parts.length === 0) return;
    event.preventDefault();
    const at = current?.isConnected ? parts.indexOf(current) + step : step > 0 ? 0 : parts.length - 1;
    choose(parts[Math.max(0, Math.min(parts.length - 1, at))]);
    current.scrollIntoView({ block: "nearest" });
  });
  answer.addEventListener("blur", () => choose(null));
}

// --- statistics ---

function usageRow(usage) {
  const saved = Math.max(0, usage.output_tokens - usage.passes);
  return [
    usage.name,
    count(usage.requests),
    count(usage.prompt_tokens),
    count(usage.output_tokens),
    percent(usage.copied_tokens, usage.output_tokens),
    count(usage.passes),
    count(saved),
    percent(sum(usage.accepted), sum(usage.drafted)),
    speed(usage.tokens_per_s),
  ];
}

/** What a day's drafts came from, a row for each corpus. */
function draftRows({ name, drafted, accepted }) {
  return Object.entries(drafted).map(([corpus, tokens]) => {
    const right = accepted[corpus] ?? 0;
    return [name, corpus, count(tokens), count(right), percent(right, tokens)];
  });
}

const USAGE = [">requests", ">read", ">written", ">copied", ">passes", ">saved", ">accepted", ">tokens/s"];

function showReport(report) {
  const { total } = report;
  const period = report.days === null ? "in all" : report.days === 365 ? "in a year" : `in ${report.days} days`;
  const saved = Math.max(0, total.output_tokens - total.passes);
  say("saved", total.requests ? percent(saved, total.output_tokens) : "–");
  say("saved-note", total.requests ? `${count(saved)} ${period}` : "");
  say("accepted", percent(sum(total.accepted), sum(total.drafted)));
  say("accepted-note", total.requests ? `${count(sum(total.accepted))} of ${count(sum(total.drafted))} tokens` : "");
  update("kinds-table", report, (element) => {
    element.replaceChildren(table("Requests by kind", ["kind", ...USAGE], report.by_kind.map(usageRow)));
    byId("models-table").replaceChildren(table("Requests by model", ["model", ...USAGE], report.by_model.map(usageRow)));
    byId("days-table").replaceChildren(
      table("Requests by day", ["day", ...USAGE], report.by_day.map(usageRow)),
      table("Drafted tokens by day and corpus", ["day", "corpus", ">drafted", ">accepted", ">share"], report.by_day.flatMap(draftRows)),
    );
    const corpora = Object.entries(total.drafted).sort((one, other) => other[1] - one[1]);
    const rows = corpora.map(([corpus, drafted]) => {
      const accepted = total.accepted[corpus] ?? 0;
      return [corpus, MEANINGS[corpus] ?? "", count(drafted), count(accepted), percent(accepted, drafted)];
    });
    byId("corpora-table").replaceChildren(table("Drafted tokens by corpus", ["corpus", "which is", ">drafted", ">accepted", ">share"], rows));
    const nothing = () => make("p", { class: "note" }, "No request in this period.");
    const drawn = report.by_day.length > 0;
    byId("tokens-chart").replaceChildren(drawn ? tokensChart(report) : nothing());
    byId("share-chart").replaceChildren(drawn ? shareChart(report) : nothing());
    const keys = corpora.map(([corpus]) => make("span", { class: `from ${styled(corpus)}` }, corpus));
    byId("share-key").replaceChildren(...keys.flatMap((key, at) => (at ? [", ", key] : [key])));
  });
}

// --- the daemon now ---

function showStatus(status, answer) {
  const { model } = status;
  const writing = answer !== null && answer.stats === null;
  const doing = status.active > 0 ? (status.waiting > 0 ? `working, ${status.waiting} waiting` : "working") : "idle";
  say("state", model ? `${model.name} on ${model.device}, ${doing}` : `no model is loaded, ${doing}`);
  say("speed", speed(writing ? answer.tokens_per_s : status.tokens_per_s));
  say("speed-note", writing ? "now" : status.requests ? "of the last request" : "");
  say("memory", amount(status.resident_bytes));
  say("memory-note", model ? `model ${amount(model.size_bytes)}` : "no model is loaded");
  const tokens = status.workspaces.reduce((all, one) => all + one.workspace_tokens + one.global_tokens, 0);
  say("index", count(tokens));
  const indexing = status.workspaces.some((workspace) => workspace.indexing);
  const workspaces = status.workspaces.length === 1 ? "1 workspace" : `${count(status.workspaces.length)} workspaces`;
  say("index-note", `${workspaces}${indexing ? ", reading" : ""}`);
  update("workspaces-table", status.workspaces, (element) => {
    const rows = status.workspaces.map((one) => [
      one.root, count(one.open_documents), count(one.workspace_tokens), count(one.global_tokens), one.indexing ? "yes" : "no",
    ]);
    const columns = ["root", ">open documents", ">its tokens", ">its libraries' tokens", "being read"];
    element.replaceChildren(rows.length ? table("Workspaces to draft from", columns, rows) : "");
  });
  update("machine-table", [model, status.version, status.pid], (element) => {
    const rows = [["daemon", `copydraft ${status.version}, process ${status.pid}`]];
    if (model) {
      rows.push(
        ["model", `${model.name} (${model.architecture}, ${model.memory_kind} memory)`],
        ["device", model.device],
        ["context", `${count(model.context)} tokens`],
        ["a token", `${model.pass_ms.toFixed(1)} ms`],
        ["a pass over N tokens", Object.entries(model.cost).map(([width, cost]) => `${width}: ${cost.toFixed(2)}`).join(", ")],
      );
    }
    element.replaceChildren(table("What it runs on", ["part", "as it is"], rows));
  });
}

// --- asking ---

const editor = typeof acquireVsCodeApi === "function" ? acquireVsCodeApi() : null;
const asked = new Map();
let number = 0;

/** The daemon's answer to GET `path`; rejects with what to tell the user. */
async function get(path) {
  if (editor) {
    const id = ++number;
    return new Promise((resolve, reject) => {
      asked.set(id, { resolve, reject });
      editor.postMessage({ id, path });
    });
  }
  let response;
  try {
    response = await fetch(path);
  } catch {
    throw new Error("the daemon has closed this page: run `copydraft stats --web` again");
  }
  if (response.status === 403) throw new Error("this page has ended: run `copydraft stats --web` again");
  const data = await response.json();
  if (!response.ok) throw new Error(data.message);
  return data;
}

window.addEventListener("message", ({ data }) => {
  const waiting = asked.get(data.id);
  asked.delete(data.id);
  if (data.error === undefined) waiting?.resolve(data.data);
  else waiting?.reject(new Error(data.error));
});

let statisticsAt = -Infinity;
let requestsSeen = -1;
let timer = 0;

async function refresh() {
  clearTimeout(timer);
  if (document.visibilityState === "hidden") return;
  let pause = IDLE_MS;
  try {
    const [status, answer] = await Promise.all([get("/v1/status"), get("/v1/last")]);
    showStatus(status, answer);
    showAnswer(answer);
    if (status.active > 0) pause = BUSY_MS;
    const now = performance.now();
    if (status.requests !== requestsSeen || now - statisticsAt > STATISTICS_MS) {
      const chosen = new URLSearchParams();
      if (byId("days").value) chosen.set("days", byId("days").value);
      if (byId("kind").value) chosen.set("kind", byId("kind").value);
      showReport(await get(`/v1/stats?${chosen}`));
      [requestsSeen, statisticsAt] = [status.requests, now];
    }
  } catch (error) {
    say("state", error.message);
  }
  clearTimeout(timer);
  timer = setTimeout(refresh, pause);
}

// The token in the address is spent: a copy of the address should not look as if it still worked.
if (!editor) history.replaceState(null, "", "/");
followParts();
document.addEventListener("visibilitychange", refresh);
byId("chosen").addEventListener("change", () => {
  statisticsAt = -Infinity;
  refresh();
});
refresh();
