// One round as a user makes it: select, edit, accept, save; statistics; explain, in all themes.
// `round.mjs URL FILE`; CHROMIUM names the browser, PROFILE an empty directory, SHOTS a folder for
// screenshots. Prints what was seen, as JSON.
import { openPage } from "./browser.mjs";
import { askForEdit, run, selectAllOf, setTheme, THEMES, viewWith } from "./user.mjs";

const [url, file] = process.argv.slice(2);
const { SHOTS, INSTRUCTION } = process.env;
const page = await openPage(1100, 720);
const shot = (name) => page.screenshot({ path: `${SHOTS}/${name}.png` });
/** In every theme, the light one last, as the round goes on in it. */
async function shotInAllThemes(name, view) {
  for (const theme of Object.keys(THEMES).reverse()) {
    await setTheme(page, theme, view);
    await shot(theme === "light" ? name : `${name}-${theme}`);
  }
}
const seen = { toasts: [] };

try {
  await page.goto(url, { waitUntil: "commit", timeout: 0 });
  await selectAllOf(page, file);
  await askForEdit(page, file, INSTRUCTION, () => shot("instruction"));
  const lenses = page.locator(".codelens-decoration");
  // A quick answer may be complete before the first lens is seen.
  await lenses
    .filter({ hasText: /tokens|Accept All/ })
    .first()
    .waitFor();
  await shot("streaming");
  await lenses.filter({ hasText: "Accept All" }).first().waitFor();
  await shotInAllThemes("preview");

  await page.keyboard.press("Control+Enter");
  await page.locator(".tab", { hasText: `Copydraft: ${file}` }).waitFor({ state: "detached" });
  seen.lines = await page
    .locator(".editor-instance .view-line")
    .evaluateAll((lines) =>
      lines
        .sort((a, b) => parseInt(a.style.top) - parseInt(b.style.top))
        .map((line) => line.innerText.replaceAll("\u00a0", " ").trimEnd()),
    );
  await page.keyboard.press("Control+S");
  await page.locator(".tab.dirty").waitFor({ state: "detached" });
  await shot("accepted");

  const bar = page.locator(".statusbar-item", { hasText: "copied" });
  seen.status = await bar.innerText();
  await bar.click();
  const statistics = await viewWith(page, "#answer .part");
  await statistics.locator("#kinds-table td").first().waitFor();
  seen.origins = await statistics
    .locator("#answer .part")
    .evaluateAll((parts) => parts.map((part) => part.className));
  seen.answer = await statistics.locator("#answer").textContent();
  seen.accepted = await statistics.locator("#accepted").textContent();
  await shotInAllThemes("statistics", statistics);
  await run(page, "View: Close Editor");
  await page.locator(".tab", { hasText: "Copydraft Statistics" }).waitFor({ state: "detached" });

  await page.locator(".editor-instance .view-line").first().click();
  await page.keyboard.press("Control+A");
  await run(page, "Copydraft: Explain Selection");
  const panel = await viewWith(page, "#turns section");
  await panel.locator('#turns[aria-busy="false"]').waitFor();
  seen.explanation = await panel.locator("#turns").innerText();
  await shotInAllThemes("explained", panel);

  // What is typed there is still there after a look at something else in its place.
  await panel.locator("#question").fill("Why?");
  await page.keyboard.press("Control+2");
  await run(page, "Copydraft: Show Statistics");
  await viewWith(page, "#answer .part");
  await run(page, "View: Close Editor");
  seen.question = await (await viewWith(page, "#turns section")).locator("#question").inputValue();
} catch (error) {
  seen.fault = String(error);
  await shot("fault");
}
seen.toasts = await page.locator(".notification-toast").allInnerTexts();
console.log(JSON.stringify(seen));
await page.context().close();
