// An explanation and the statistics by the keyboard alone: `keyboard.mjs URL FILE`. Prints as JSON
// what a screen reader is told of them, and where the focus was. The daemon is the fake one.
// CHROMIUM names the browser, PROFILE an empty directory, SHOTS a folder for screenshots.
import { openPage } from "./browser.mjs";
import { run, selectAllOf, viewWith } from "./user.mjs";

const [url, file] = process.argv.slice(2);
const { SHOTS } = process.env;
const page = await openPage(1100, 720);
const shot = (name) => page.screenshot({ path: `${SHOTS}/${name}.png` });
const seen = {};

/** The focused element of a view, as its name. */
const focused = (view) =>
  view.evaluate(() => {
    const { id, tagName, textContent } = document.activeElement;
    return id || (tagName === "BODY" ? "" : textContent);
  });
/** What Tab comes to in a view, from its beginning to its end. */
async function stops(view, last) {
  const found = [];
  while (found.at(-1) !== last && found.length < 30) {
    await page.keyboard.press("Tab");
    found.push(await focused(view));
  }
  return found;
}
async function pressUntil(view, key, wanted) {
  for (let left = 30; left > 0; left--) {
    if ((await focused(view)) === wanted) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${key} never comes to ${wanted}`);
}

try {
  await page.goto(url, { waitUntil: "commit", timeout: 0 });
  await selectAllOf(page, file);
  await page.keyboard.press("F1");
  await page.keyboard.type("Copydraft: ");
  const rows = page.locator(".quick-input-list .monaco-list-row");
  await rows.filter({ hasText: "Copydraft: Explain Selection" }).waitFor();
  seen.commands = await rows.evaluateAll((all) => all.map((row) => row.ariaLabel));
  await shot("palette");
  await page.keyboard.press("Escape");

  await run(page, "Copydraft: Explain Selection");
  const panel = await viewWith(page, "#turns section");
  const done = panel.locator('#turns[aria-busy="false"]');
  const writing = panel.locator('#turns[aria-busy="true"]');
  await done.waitFor({ state: "attached" });
  await page.keyboard.press("Control+2");
  await pressUntil(panel, "Tab", "question");
  await page.keyboard.type("echo `total` is 1");
  await page.keyboard.press("Enter");
  await panel.locator("section", { hasText: "total is 1" }).last().waitFor();
  await done.waitFor({ state: "attached" });
  seen.asked = await focused(panel);
  seen.explanation = await panel.locator("body").ariaSnapshot();
  await shot("explanation");

  await page.keyboard.type("hold");
  await page.keyboard.press("Enter");
  await panel.locator("section", { hasText: "holding" }).waitFor();
  seen.writing = await panel.locator("body").ariaSnapshot();
  await pressUntil(panel, "Tab", "stop");
  await page.keyboard.press("Enter");
  await panel.locator("section", { hasText: "stopped" }).waitFor();
  await panel.evaluate(() => new Promise(requestAnimationFrame));
  seen.stopped = await focused(panel);
  await pressUntil(panel, "Shift+Tab", "Try Again");
  await page.keyboard.press("Enter");
  await writing.waitFor();
  await panel.evaluate(() => new Promise(requestAnimationFrame));
  seen.again = await focused(panel);
  await page.keyboard.press("Escape");
  await done.waitFor({ state: "attached" });

  await pressUntil(panel, "Shift+Tab", "Try Again");
  await page.keyboard.press("Enter");
  await writing.waitFor();
  await pressUntil(panel, "Tab", "stop");
  await page.keyboard.press("Control+1");
  await page.waitForFunction(() => document.activeElement.tagName !== "IFRAME");
  await run(page, "Copydraft: Stop All Requests");
  await done.waitFor({ state: "attached" });
  await panel.evaluate(() => new Promise(requestAnimationFrame));
  seen.elsewhere = await page.evaluate(() => document.activeElement.tagName);
  await run(page, "Copydraft: Show Statistics");
  const statistics = await viewWith(page, "#machine-table td");
  seen.statistics = await statistics.locator("body").ariaSnapshot();
  seen.stops = await stops(statistics, "days");
  await shot("statistics");
} catch (error) {
  seen.fault = String(error);
  await shot("fault");
}
console.log(JSON.stringify(seen));
await page.context().close();
