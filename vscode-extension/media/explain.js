// The page of an explanation. It shows what the extension sends and says what was clicked.
const vscode = acquireVsCodeApi();
const element = (id) => document.getElementById(id);
const main = element("turns");
const question = element("question");

// Each turn keeps its elements, so that a selection in an earlier answer outlives the next token.
const shown = [];
let busy = false;

window.addEventListener("message", ({ data }) => {
  const atEnd = window.innerHeight + window.scrollY >= document.body.scrollHeight - 40;
  const hadFocus = hasFocus();
  element("where").textContent = data.where;
  element("where").dataset.line = data.line;
  element("progress").textContent = data.progress;
  // How far it is, many times a second, would be read out each time.
  const state = data.busy ? "The answer is being written." : "";
  if (element("state").textContent !== state) element("state").textContent = state;
  main.setAttribute("aria-busy", String(data.busy));
  element("stop").hidden = !data.busy;
  element("ask").hidden = data.busy;
  busy = data.busy;
  data.turns.forEach((turn, index) => show(turn, index));
  // A button that has gone takes the focus with it: it would begin again at the top.
  if (hadFocus && !hasFocus()) question.focus();
  if (atEnd && data.busy) window.scrollTo(0, document.body.scrollHeight);
});

function hasFocus() {
  const { activeElement, body } = document;
  return activeElement !== body && activeElement.checkVisibility();
}

function show(turn, index) {
  if (!shown[index]) {
    const section = document.createElement("section");
    const heading = document.createElement("h2");
    const answer = document.createElement("div");
    const problem = document.createElement("p");
    const helps = document.createElement("p");
    problem.className = "problem";
    helps.className = "helps";
    section.append(heading, answer, problem, helps);
    main.append(section);
    shown[index] = { heading, answer, problem, helps, html: "", titles: "" };
  }
  const { heading, answer, problem, helps, html } = shown[index];
  heading.textContent = turn.question || "Explanation";
  heading.className = turn.question ? "" : "unseen";
  problem.textContent = turn.problem;
  problem.hidden = !turn.problem;
  helps.hidden = turn.buttons.length === 0;
  if (shown[index].titles !== turn.buttons.join()) {
    helps.replaceChildren(...turn.buttons.map(helping(index)));
    shown[index].titles = turn.buttons.join();
  }
  if (html !== turn.html) {
    // Made by markdown-it without HTML, links or images: see src/markdown.ts.
    const parts = () => [...answer.querySelectorAll("button, [tabindex]")];
    const focused = parts().indexOf(document.activeElement);
    answer.innerHTML = turn.html;
    if (focused >= 0) parts()[focused]?.focus();
    shown[index].html = turn.html;
  }
}

/** Makes the buttons that help against the problem of a turn. */
function helping(turn) {
  return (title, button) => {
    const help = document.createElement("button");
    help.textContent = title;
    help.addEventListener("click", () => vscode.postMessage({ type: "help", turn, button }));
    return help;
  };
}

document.addEventListener("click", (event) => {
  const place = event.target.closest(".place");
  const copy = event.target.closest(".copy");
  if (place) vscode.postMessage({ type: "go", line: Number(place.dataset.line) });
  if (copy) {
    const text = copy.parentElement.querySelector("code").textContent;
    vscode.postMessage({ type: "copy", text });
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  }
});

element("form").addEventListener("submit", (event) => {
  event.preventDefault();
  // What is typed while an answer comes is asked when it is here.
  if (busy) return;
  if (question.value.trim()) vscode.postMessage({ type: "ask", question: question.value });
  question.value = "";
  keep();
});

// VS Code drops a page that is hidden, and loads it again.
const keep = () => vscode.setState({ question: question.value });
question.addEventListener("input", keep);
question.value = vscode.getState()?.question ?? "";

element("stop").addEventListener("click", () => vscode.postMessage({ type: "stop" }));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") vscode.postMessage({ type: "stop" });
});

vscode.postMessage({ type: "ready" });
