// Opens the statistics page and prints what is on it as JSON: `statistics_page.mjs URL SCREENSHOT`.
// CHROMIUM names the browser, PROFILE an empty directory.
import { openPage } from "./browser.mjs";

const [url, screenshot] = process.argv.slice(2);
const page = await openPage(1100, 900);
const complaints = [];
page.on("pageerror", (error) => complaints.push(error.message));
page.on("console", (message) => {
  // The browser looks for an icon by itself, which the page's policy forbids.
  const icon = message.location().url.endsWith("/favicon.ico");
  if (message.type() === "error" && !icon) complaints.push(message.text());
});
await page.addInitScript(() => {
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.shift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
});
await page.goto(url);
await page.waitForFunction(() => document.querySelector("#kinds-table td") !== null);

const text = (selector) =>
  page.locator(selector).evaluateAll((all) => all.map((one) => one.textContent));
const parts = await page
  .locator("#answer .part")
  .evaluateAll((all) => all.map((one) => [one.className, one.textContent, one.title]));
const origins = [];
await page.focus("#answer");
for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft"]) {
  await page.keyboard.press(key);
  origins.push((await text("#origin"))[0]);
}
const shift = await page.evaluate(() => window.shift);
await page.selectOption("#kind", "explain");
await page.waitForFunction(() => document.querySelector("#kinds-table tbody")?.textContent === "");
const unnamed = await page.evaluate(
  () =>
    document.querySelectorAll('svg:not([role="img"][aria-label]), table:not(:has(caption))').length,
);
await page.selectOption("#kind", "");
await page.waitForFunction(() => document.querySelector("#tokens-chart svg") !== null);
await page.screenshot({ path: screenshot });
const found = {
  address: page.url(),
  state: (await text("#state"))[0],
  tiles: await text(".tiles dd:not(.note)"),
  legend: await text("#legend li"),
  charts: await page.locator(".chart svg").evaluateAll((all) => all.map((one) => one.ariaLabel)),
  corpora: await text("#corpora-table tbody tr:first-child :is(th, td)"),
  origins,
  parts,
  shift,
  unnamed,
  complaints,
};
await page.context().close();
console.log(JSON.stringify(found));
