// One round as a user makes it: select, edit, accept, save; explain. `round.mjs URL FILE`.
// CHROMIUM names the browser, PROFILE an empty directory, SHOTS a folder for screenshots. Prints
// what was seen, as JSON.
import { chromium } from "playwright-core";

import { FLAGS } from "./flags.mjs";
import { askForEdit, run, selectAllOf } from "./user.mjs";

const [url, file] = process.argv.slice(2);
const { CHROMIUM, PROFILE, SHOTS, LIMIT_MS, INSTRUCTION } = process.env;
const context = await chromium.launchPersistentContext(PROFILE, {
  executablePath: CHROMIUM,
  args: FLAGS,
  viewport: { width: 1100, height: 720 },
});
context.setDefaultTimeout(Number(LIMIT_MS));
const page = context.pages()[0] ?? (await context.newPage());
const shot = (name) => page.screenshot({ path: `${SHOTS}/${name}.png` });
const seen = { toasts: [] };

try {
  await page.goto(url, { waitUntil: "commit", timeout: 0 });
  await selectAllOf(page, file);
  await askForEdit(page, file, INSTRUCTION, () => shot("instruction"));
  const lenses = page.locator(".codelens-decoration");
  await lenses.filter({ hasText: "tokens" }).first().waitFor();
  await shot("streaming");
  await lenses.filter({ hasText: "Accept All" }).first().waitFor();
  await shot("preview");

  await page.keyboard.press("Control+Enter");
  await page.locator(".tab", { hasText: `Copydraft: ${file}` }).waitFor({ state: "detached" });
  seen.lines = await page.locator(".editor-instance .view-line").evaluateAll((lines) =>
    lines
      .sort((a, b) => parseInt(a.style.top) - parseInt(b.style.top))
      .map((line) => line.innerText.replaceAll("\u00a0", " ").trimEnd()),
  );
  await page.keyboard.press("Control+S");
  await page.locator(".tab.dirty").waitFor({ state: "detached" });
  await shot("accepted");

  await page.keyboard.press("Control+A");
  await run(page, "Copydraft: Explain Selection");
  const panel = page.frameLocator("iframe.webview").frameLocator("iframe");
  await panel.locator("#turns section").waitFor();
  await panel.locator('#turns[aria-busy="false"]').waitFor();
  seen.explanation = await panel.locator("#turns").innerText();
  seen.status = await page.locator(".statusbar-item", { hasText: "copied" }).innerText();
  await shot("explained");
} catch (error) {
  seen.fault = String(error);
  await shot("fault");
}
seen.toasts = await page.locator(".notification-toast").allInnerTexts();
console.log(JSON.stringify(seen));
await context.close();
